"""Every way in which programs that are not ours take a URL, against a rule for one place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Effect
from agent.security.policy import GateCall, PolicyRule, Verdict
from agent.security.spelling import spelled_argument
from agent.security.web_addresses import spelled

ROUTER = "http://192.168.1.1/admin"


def is_covered(pattern: str, url: str) -> bool:
    rule = PolicyRule("r", "*", {"url": spelled_argument("url", pattern)}, Verdict.DENY)
    call = GateCall("mcp_fetch_get", Effect.READ, {"url": spelled_argument("url", url)})
    return rule.covers(call)


@pytest.mark.parametrize(
    "url",
    [
        ROUTER,
        "http://anna@192.168.1.1/admin",
        "http://anna:secret@192.168.1.1:80/admin?a",
        "http://a.org@b.org@192.168.1.1/admin",
        "http://192.168.1.1:0080/admin",
        "http://192.168.1.1:/admin",
        "http://192.168.1.1./admin",
        "http://3232235777/admin",
        "http://0xC0A80101/admin",
        "http://0300.0250.0x1.1/admin",
        "http://192.168.257/admin",
        "http://[::ffff:192.168.1.1]/admin",
        "http://[::FFFF:C0A8:101]:80/admin",
        "http://192\u3002168\uff0e1.1/admin",
        "http://\uff11\uff19\uff12.168.1.1/admin",
        "http://%31%392.168.1.1/admin",
        " \thttp://192.168.1.1/admin\n",
        "ht\ntp://192.168\t.1.1/ad\rmin",
        "http:\\\\192.168.1.1\\admin",
        "http://192.168.1.1\\admin",
        "http:/192.168.1.1/admin",
        "http:192.168.1.1/admin",
        "http:////192.168.1.1/admin",
        "HTTP://192.168.1.1/x/..\\admin",
    ],
)
def test_a_rule_for_a_place_holds_however_its_url_is_written(url: str) -> None:
    assert is_covered("http://192.168.1.1/admin*", url)
    assert is_covered("http://192.168.1.1/*", url)
    assert not is_covered("http://192.168.1.2/*", url)


@pytest.mark.parametrize(
    "url",
    [
        "http://a.org@192.168.1.1/",
        "http://192.168.1.1\\@a.org/",
        "http://192.168.1.1?@a.org/",
        "http://192.168.1.1#@a.org/",
        "http://192.168.1.1/http://a.org/",
    ],
)
def test_a_rule_that_allows_a_place_covers_no_other_one(url: str) -> None:
    assert not is_covered("http://a.org/*", url)
    assert is_covered("http://192.168.1.1/*", url)


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("https://b\u00fccher.example.org/*", "https://xn--bcher-kva.example.org/a"),
        ("http://[FD00:0:0::5]:8080/*", "http://[fd00::5%25eth0]:8080/a"),
        ("https://a.or*", "https://A.ORG/b?c"),
        ("http://192.168.1.*", "http://192.168.1.77/"),
        ("http://a.org:8*", "http://a.org:8080/"),
        ("wss://a.org/*", "WSS://a.org:443/b"),
        ("http://a.org/?q=\\d", "http://a.org?q=\\d#e"),
    ],
)
def test_rules_are_written_as_their_owner_likes(pattern: str, url: str) -> None:
    assert is_covered(pattern, url)


@pytest.mark.parametrize(
    ("told", "alike"),
    [
        ("http://", "http:///"),
        ("http://[nonsense/a", "http://[nonsense/a"),
        ("http://[::1]x/a", "http://[::1]x/a"),
        ("http://1.2.3.4.5/", "http://1.2.3.4.5/"),
        ("http://09.1/", "http://09.1/"),
        ("http://256.256.256.256/", "http://256.256.256.256/"),
        (f"http://{'a' * 70}.org/", f"http://{'a' * 70}.org/"),
        ("http://a.org:x/", "http://a.org:x/"),
        ("mailto:a@b.org", "mailto:a@b.org"),
    ],
)
def test_what_leads_nowhere_has_a_spelling_all_the_same(told: str, alike: str) -> None:
    assert spelled_argument("url", told) == alike


@given(st.text(max_size=40))
def test_any_text_has_a_spelling(text: str) -> None:
    for told in (text, f"http://{text}", f"http://a.org/{text}"):
        assert spelled_argument("url", told).startswith("http") or told == text


@given(
    st.sampled_from(["a.org", "A.Org", "192.168.1.1", "[FD00::5]", "[::ffff:1.2.3.4]"]),
    st.sampled_from(["", ":80", ":443", ":8080"]),
    st.text(alphabet="ab/.%2Ff?#=*", max_size=12),
)
def test_a_plain_url_has_the_spelling_of_our_own_tools(host: str, port: str, rest: str) -> None:
    url = f"http://{host}{port}/{rest}"
    assert spelled_argument("url", url) == spelled(url)
