import pytest

from agent.net.http import HttpClient
from agent.security.web_addresses import WebRules
from agent.tools.browser.traffic import (
    MAX_RECEIVED_BYTES,
    MAX_REQUESTS,
    PageRequest,
    Traffic,
    UrlRules,
)
from agent.tools.web import Web

SHOP = "https://shop.example.org/basil"
COMPARED = UrlRules(follow=False)


@pytest.fixture
def web() -> Web:
    return Web(HttpClient(), WebRules(local=("127.0.0.1:8080",)))


@pytest.fixture
def traffic(web: Web) -> Traffic:
    return Traffic(web)


def test_nothing_is_let_out_between_calls(web: Web, traffic: Traffic) -> None:
    assert "between calls" in traffic.refusal(PageRequest("GET", SHOP))
    with traffic.opened(web.place_of(SHOP)):
        assert traffic.refusal(PageRequest("GET", SHOP)) == ""
    assert "between calls" in traffic.refusal(PageRequest("GET", SHOP))
    # What was open is as closed to the proxy
    assert traffic.refusal_of_connection("CONNECT", web.place_of(SHOP))


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "post", "WHATEVER"])
def test_sending_needs_a_persons_word_and_goes_to_the_pages_own_site(
    web: Web, traffic: Traffic, method: str
) -> None:
    own, other = PageRequest(method, SHOP), PageRequest(method, "https://evil.example.com/take")
    with traffic.opened(web.place_of(SHOP)):
        assert "nobody has allowed" in traffic.refusal(own)
    with traffic.opened(web.place_of(SHOP), may_send=True) as tally:
        assert traffic.refusal(own) == ""
        assert "own site" in traffic.refusal(other)
        assert "plain http" in traffic.refusal(PageRequest(method, "http://shop.example.org/"))
    assert tally.sent == [f"{method} https://shop.example.org"]
    with traffic.opened(web.place_of(SHOP)):
        assert traffic.refusal(own)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://169.254.169.254/latest", "this machine or network"),
        ("http://localhost/", "this machine or network"),
        ("http://127.0.0.1:22/", "not a web port"),
        ("file:///etc/passwd", "http:// and https://"),
        ("chrome://settings", "http:// and https://"),
        ("https://other.example.org/", "another site"),
        ("http://shop.example.org/", "plain http"),
    ],
)
def test_a_page_is_not_replaced_by_one_that_it_may_not_lead_to(
    web: Web, traffic: Traffic, url: str, reason: str
) -> None:
    with traffic.opened(web.place_of(SHOP)) as tally:
        assert reason in traffic.refusal(PageRequest("GET", url, is_page=True))
    assert reason in tally.refusal
    assert tally.leads_to == (url if reason == "another site" else "")


def test_where_a_rule_compares_urls_only_the_page_that_was_opened_is_shown(
    web: Web, traffic: Traffic
) -> None:
    other = "https://shop.example.org/mint"
    with traffic.opened(web.place_of(SHOP), may_send=True, only=SHOP, rules=COMPARED) as tally:
        for method, url in (("GET", SHOP), ("POST", SHOP), ("GET", f"{SHOP}#top")):
            assert traffic.refusal(PageRequest(method, url, is_page=True)) == ""
        # Rules compare one spelling
        same = "https://shop.example.org/mint/../%62asil"
        assert traffic.refusal(PageRequest("GET", same, is_page=True)) == ""
        assert "compares URLs" in traffic.refusal(PageRequest("POST", other, is_page=True))
        assert tally.leads_to == ""
        assert "by its URL" in traffic.refusal(PageRequest("GET", other, is_page=True))
        assert tally.leads_to == other
        # Parts of the page are no pages
        assert traffic.refusal(PageRequest("GET", other)) == ""
    with traffic.opened(web.place_of(SHOP)):
        assert traffic.refusal(PageRequest("GET", other, is_page=True)) == ""


def test_what_a_rule_denies_is_no_part_of_a_page(web: Web, traffic: Traffic) -> None:
    diary, own = "https://home.example.org/diary", "https://shop.example.org/orders"
    rules = UrlRules(follow=False, denies=lambda url: url in {diary, own})
    with traffic.opened(web.place_of(SHOP), may_send=True, only=SHOP, rules=rules) as tally:
        assert traffic.refusal(PageRequest("GET", SHOP, is_page=True)) == ""
        for url in (own, "https://SHOP.example.org:443/a/..%2Forders#top", diary):
            assert "rule of the owner denies" in traffic.refusal(PageRequest("GET", url))
        assert "denies" in traffic.refusal(PageRequest("POST", own))
        assert traffic.refusal(PageRequest("GET", "https://home.example.org/garden")) == ""
    assert tally.requests == 2
    # The browser's own requests come past no event
    assert traffic.refusal_of_connection("GET", web.place_of(diary))


def test_a_page_that_came_without_a_request_is_known(web: Web, traffic: Traffic) -> None:
    assert traffic.refusal_of_shown("about:blank") == ""
    with traffic.opened(web.place_of(SHOP), only=SHOP, rules=COMPARED):
        assert traffic.refusal_of_shown(SHOP) == ""
    # A page may come when the call is over
    assert "compares URLs" in traffic.refusal_of_shown("https://shop.example.org/mint")
    assert "another site" in traffic.refusal_of_shown("https://other.example.org/")
    assert "this machine" in traffic.refusal_of_shown("http://169.254.169.254/")


def test_parts_of_a_page_may_come_from_any_public_host(web: Web, traffic: Traffic) -> None:
    picture = "https://pictures.example.com/basil.jpg"
    with traffic.opened(web.place_of(SHOP)):
        assert traffic.refusal(PageRequest("GET", picture)) == ""
        assert traffic.refusal(PageRequest("GET", "data:text/plain,x")) == ""


def test_the_proxy_serves_only_what_a_page_was_let_ask_for(web: Web, traffic: Traffic) -> None:
    home = "http://127.0.0.1:8080/"
    with traffic.opened(web.place_of(home)):
        assert traffic.refusal_of_connection("GET", web.place_of(home))
        assert not traffic.refusal(PageRequest("GET", home))
        assert not traffic.refusal_of_connection("GET", web.place_of(home))
        assert "nobody" in traffic.refusal_of_connection("POST", web.place_of(home))
        # A socket asks for a tunnel where only plain pages are
        assert traffic.refusal_of_connection("CONNECT", web.place_of("https://127.0.0.1:8080/"))


def test_requests_bytes_and_notes_are_counted(web: Web, traffic: Traffic) -> None:
    with traffic.opened(web.place_of(SHOP)) as tally:
        for _ in range(MAX_REQUESTS):
            assert not traffic.refusal(PageRequest("GET", SHOP))
        assert "more than" in traffic.refusal(PageRequest("GET", SHOP))
        assert traffic.receive(MAX_RECEIVED_BYTES)
        assert not traffic.receive(1)
        for number in range(100):
            traffic.note(f"note {number}\n\x1b[31m")
    assert len(tally.notes) == 8
    assert all(note.isprintable() for note in tally.notes)
