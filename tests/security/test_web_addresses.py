import ipaddress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import AddressRefused
from agent.security.web_addresses import (
    MAX_HOST_CHARS,
    MAX_URL_CHARS,
    WebPlace,
    WebRules,
    is_public,
    spelled,
)
from agent.tools.settings import WebSettings

RULES = WebRules(leads_out4=lambda: True)


@pytest.mark.parametrize(
    ("url", "scheme", "host", "port"),
    [
        ("https://Example.org/a?b", "https", "example.org", 443),
        ("http://example.org:8080", "http", "example.org", 8080),
        ("HTTPS://xn--bcher-kva.example.com/", "https", "xn--bcher-kva.example.com", 443),
        ("http://93.184.216.34/", "http", "93.184.216.34", 80),
        ("https://[2606:4700:0::1111]:8443/x", "https", "2606:4700::1111", 8443),
    ],
)
def test_a_url_is_taken_apart(url: str, scheme: str, host: str, port: int) -> None:
    assert RULES.place_of(f"{url}#fragment") == WebPlace(url, scheme, host, port)


def test_a_place_names_its_host_as_a_request_does() -> None:
    assert RULES.place_of("https://example.org:443/").authority == "example.org"
    assert RULES.place_of("https://example.org:8443/").origin == "https://example.org:8443"
    assert RULES.place_of("http://[2606:4700::1111]:8080/").authority == "[2606:4700::1111]:8080"
    assert RULES.place_of("http://[2606:4700::1111]/").is_address
    assert not RULES.place_of("http://example.org/").is_address


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://example.org/", "only http"),
        ("file:///etc/passwd", "only http"),
        ("gopher://example.org:70/_x", "only http"),
        ("javascript:alert(1)", "only http"),
        ("example.org", "only http"),
        ("http:/example.org", "only http"),
        ("http:example.org", "only http"),
        ("//example.org", "only http"),
        ("http://", "no valid host"),
        ("http:///path", "no valid host"),
        ("http://-a.org/", "no valid host"),
        ("http://a..org/", "no valid host"),
        ("http://example.org./", "no valid host"),
        ("http://ex%61mple.org/", "no valid host"),
        (f"http://{'a' * 64}.org/", "no valid host"),
        (f"http://{'a.' * 130}org/", "no valid host"),
        ("http://user@example.org/", "a user name"),
        ("http://user:pass@example.org/", "a user name"),
        ("http://@example.org/", "a user name"),
        ("http://example.org:0/", "a user name or an invalid port"),
        ("http://example.org:99999/", "URL is invalid"),
        ("http://example.org:x/", "URL is invalid"),
        ("http://[::1", "URL is invalid"),
        ("http://example.org:25/", "port 25"),
        ("http://example.org:22/", "port 22"),
        ("http://example.org/a b", "a space"),
        ("http://example.org\\@evil.org/", "backslash"),
        ("http://example.org/\r\nHost: evil", "not ASCII"),
        ("http://bücher.example.com/", "not ASCII"),
        ("http://example.org/" + "a" * MAX_URL_CHARS, "longer than"),
        ("", "not ASCII"),
    ],
)
def test_what_is_no_plain_url_is_refused(url: str, why: str) -> None:
    with pytest.raises(AddressRefused, match=why):
        RULES.place_of(url)


def test_a_url_of_the_longest_kind_is_read() -> None:
    start = "http://example.org/"
    assert RULES.place_of(start + "a" * (MAX_URL_CHARS - len(start))).host == "example.org"
    with pytest.raises(AddressRefused, match="longer than"):
        RULES.place_of(start + "a" * (MAX_URL_CHARS - len(start) + 1))


def test_a_host_of_the_longest_kind_is_read() -> None:
    host = ".".join(["a" * 49] * 5) + ".com"
    assert len(host) == MAX_HOST_CHARS
    assert RULES.place_of(f"http://{host}/").host == host
    with pytest.raises(AddressRefused, match="no valid host"):
        RULES.place_of(f"http://a{host}/")


def test_only_listed_hosts_where_some_are_listed() -> None:
    rules = WebRules(allow=("example.org", "*.met.no"))
    for host in ("example.org", "api.met.no", "a.b.met.no"):
        assert rules.place_of(f"https://{host}/").host == host
    for host in ("www.example.org", "met.no", "xmet.no", "example.org.evil.com", "evil.com"):
        with pytest.raises(AddressRefused, match="not in \\[web\\] allow"):
            rules.place_of(f"https://{host}/")


def test_a_machine_at_home_is_reached_only_if_named_with_its_port() -> None:
    rules = WebRules(local=("192.168.1.20:8080", "printer.lan:80", "[fd00::5]:8123"))
    for url in ("http://192.168.1.20:8080/x", "http://printer.lan/", "http://[fd00::5]:8123/"):
        place = rules.place_of(url)
        assert str(rules.checked(place, ["192.168.1.20"])) == "192.168.1.20"
    for url in ("http://192.168.1.20/", "http://192.168.1.21:8080/", "http://printer.lan:81/"):
        with pytest.raises(AddressRefused):
            rules.place_of(url)


@pytest.mark.parametrize(
    ("found", "chosen"),
    [
        (["93.184.216.34"], "93.184.216.34"),
        (["2606:4700::1111", "93.184.216.34"], "93.184.216.34"),
        (["2606:4700::1111"], "2606:4700::1111"),
        (["64:ff9b::5db8:d822"], "64:ff9b::5db8:d822"),
    ],
)
def test_one_address_is_chosen(found: list[str], chosen: str) -> None:
    assert str(RULES.checked(RULES.place_of("http://example.org/"), found)) == chosen


def test_what_the_owner_can_allow_is_told_as_the_settings_take_it() -> None:
    for url in ("http://192.168.1.20:8080/", "http://[fd00::5]:8080/", "http://[fd00:0:0::5]/"):
        with pytest.raises(AddressRefused) as refused:
            RULES.place_of(url)
        spot = str(refused.value).split('"')[1]
        local = msgspec.convert({"local": [spot]}, WebSettings).local
        assert WebRules(local=local).place_of(url).port in {80, 8080}


def test_an_address_at_home_may_be_written_out() -> None:
    rules = WebRules(local=("[fd00:0:0:0:0:0:0:5]:8123",))
    assert rules.place_of("http://[fd00::5]:8123/").host == "fd00::5"
    with pytest.raises(AddressRefused):
        rules.place_of("http://[fd00::5]:8124/")


def test_an_address_of_this_machine_is_refused_in_its_newer_forms_too() -> None:
    rules = WebRules(networks=lambda: [ipaddress.IPv4Network("93.184.216.34")])
    for form in ("93.184.216.34", "[::ffff:93.184.216.34]", "[64:ff9b::93.184.216.34]"):
        with pytest.raises(AddressRefused, match="this machine or network"):
            rules.place_of(f"http://{form}:8476/")
    for found in ("::ffff:5db8:d822", "64:ff9b::5db8:d822"):
        with pytest.raises(AddressRefused, match="this machine or network"):
            rules.checked(rules.place_of("http://example.org/"), [found])


def test_an_older_address_in_a_newer_form_is_the_same_place() -> None:
    rules = WebRules(local=("192.168.1.20:8080",))
    for form in ("192.168.1.20", "[::ffff:192.168.1.20]", "[::FFFF:c0a8:114]"):
        url = f"http://{form}:8080/"
        assert rules.place_of(url).host == "192.168.1.20"
        assert spelled(url) == "http://192.168.1.20:8080/"


def test_where_no_older_address_leads_out_the_newer_one_is_chosen() -> None:
    rules = WebRules(local=("localhost:8080",), leads_out4=lambda: False)
    here = rules.place_of("http://localhost:8080/")
    assert str(rules.checked(here, ["::1", "127.0.0.1"])) == "127.0.0.1"
    place, both = rules.place_of("http://example.org/"), ["93.184.216.34", "64:ff9b::5db8:d822"]
    for found in (both, both[::-1]):
        assert str(rules.checked(place, found)) == "64:ff9b::5db8:d822"
    assert str(rules.checked(place, both[:1])) == "93.184.216.34"


@pytest.mark.parametrize(
    "found",
    [
        [],
        ["127.0.0.1"],
        ["93.184.216.34", "10.0.0.1"],
        ["2606:4700::1111", "::1"],
        ["fe80::1%eth0"],
        ["nonsense"],
    ],
)
def test_a_name_with_any_address_that_is_not_public_is_refused(found: list[str]) -> None:
    with pytest.raises(AddressRefused):
        RULES.checked(RULES.place_of("http://example.org/"), found)


@given(st.ip_addresses(v=4))
def test_an_older_address_is_as_public_in_its_newer_forms(address: ipaddress.IPv4Address) -> None:
    for form in (f"::ffff:{address}", f"64:ff9b::{address}"):
        assert is_public(ipaddress.IPv6Address(form)) == is_public(address)
    assert not is_public(ipaddress.IPv6Address(f"::{address}"))


@given(st.ip_addresses())
def test_nothing_special_is_public(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    special = (
        *(address.is_private, address.is_loopback, address.is_link_local, address.is_multicast),
        *(address.is_reserved, address.is_unspecified),
    )
    holds_older = any(
        address in ipaddress.ip_network(network) for network in ("64:ff9b::/96", "::ffff:0:0/96")
    )
    assert not (is_public(address) and any(special) and not holds_older)


@given(st.text(max_size=60))
def test_any_text_is_a_place_or_refused(text: str) -> None:
    for url in (text, f"http://{text}", f"https://example.org/{text}"):
        try:
            place = RULES.place_of(url)
        except AddressRefused:
            continue
        assert place.host.isascii()
        assert place.scheme in {"http", "https"}


@pytest.mark.parametrize(
    "name",
    [
        *("localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp"),
        *("private", "home.arpa", "test", "invalid", "example", "onion", "arpa"),
    ],
)
def test_a_name_of_this_network_is_refused_before_it_is_looked_up(name: str) -> None:
    for host in (f"router.{name}", f"a.b.{name}", f"ROUTER.{name.upper()}"):
        with pytest.raises(AddressRefused, match="name of this machine or network"):
            RULES.place_of(f"http://{host}/")
    assert RULES.place_of(f"http://{name.replace('.', '-')}.org/").port == 80


def test_nothing_is_connected_to_where_a_name_has_no_address() -> None:
    with pytest.raises(AddressRefused):
        RULES.checked(RULES.place_of("http://example.org/"), [])


@pytest.mark.parametrize(
    "address", ["2001:1::1", "2001:4:112::1", "2001:20::1", "2002:808:808::1", "3fff::1"]
)
def test_what_leads_elsewhere_is_not_public_though_it_is_global(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))
    assert is_public(ipaddress.ip_address("2a00:1450:4001::1"))


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("HTTPS://A.org:443/b?C#d", "https://a.org/b?C"),
        ("http://A.ORG:8080?b", "http://a.org:8080/?b"),
        ("http://a.org#b/c?d", "http://a.org/"),
        ("https://a.org", "https://a.org/"),
        ("https://a.org/%70%3fb%c3", "https://a.org/p%3Fb%C3"),
        # Many servers take it for the slash that it stands for, and only then look for dots
        ("https://a.org/p%2fb", "https://a.org/p/b"),
        ("https://a.org/open%2F..%2F%2e%2e/p?q=%2f", "https://a.org/p?q=%2F"),
        ("https://a.org/a/../p", "https://a.org/p"),
        ("https://a.org/a/%2E%2e/%2e/p/..", "https://a.org/"),
        ("https://a.org/../p/.", "https://a.org/p/"),
        ("https://a.org//p///b", "https://a.org/p/b"),
        ("https://a.org/a/b/?c=/../%70//#d", "https://a.org/a/b/?c=/../p//"),
        ("https://a.org/web/https://b.org/%", "https://a.org/web/https://b.org/%"),
    ],
)
def test_a_url_has_one_spelling(url: str, told: str) -> None:
    assert spelled(url) == told


def test_what_is_no_url_has_no_spelling() -> None:
    with pytest.raises(AddressRefused):
        spelled("diary/may.md")
