from pathlib import Path

import pytest

from agent.config import decode
from agent.errors import ConfigRefused
from agent.settings import Settings
from agent.tools.settings import WebSettings

FILE = Path("barnacle.toml")


def web(text: str) -> WebSettings:
    return decode(f"[web]\n{text}\n", Settings, FILE).web


def test_hosts_are_named_plainly() -> None:
    found = web(
        'allow = ["example.org", "*.met.no"]\nlocal = ["192.168.1.20:8123", "[fd00::5]:80"]'
    )
    assert found.allow == ("example.org", "*.met.no")
    assert found.local == ("192.168.1.20:8123", "[fd00::5]:80")
    assert web("") == WebSettings()


@pytest.mark.parametrize(
    "text",
    [
        'allow = ["*"]',
        'allow = ["https://example.org"]',
        'allow = ["Example.org"]',
        'allow = ["example.*"]',
        'allow = ["a b.org"]',
        'allow = "example.org"',
        'local = ["192.168.1.20"]',
        'local = ["*:80"]',
        'local = ["http://nas:80"]',
        'local = ["nas:http"]',
        "deny = []",
    ],
)
def test_what_is_no_host_is_refused_by_name(text: str) -> None:
    with pytest.raises(ConfigRefused, match=r"web\."):
        web(text)


@pytest.mark.parametrize(
    ("url", "spot"),
    [
        ("http://192.168.1.20:8080", "192.168.1.20:8080"),
        ("http://search.lan/searx/", "search.lan:80"),
        ("https://searx.example.org", "searx.example.org:443"),
        ("http://[fd00::5]:8080/", "[fd00::5]:8080"),
        ("http://[fd00::5]", "[fd00::5]:80"),
    ],
)
def test_a_searxng_has_a_host_and_a_port(url: str, spot: str) -> None:
    assert web(f'[web.search.searxng]\nurl = "{url}"').search["searxng"].spot == spot


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "[web.search.google]",
            "search`: google is not a known service; choose from searxng, brave",
        ),
        ("[web.search.searxng]", "search`: searxng needs its url"),
        ("[web.search.brave]", "search`: brave needs a key"),
        ("[web.search.tavily]", "search`: tavily needs a key"),
        (
            '[web.search.tavily]\nkey = "schlüssel"',
            "search`: tavily has an invalid key: only plain characters are allowed",
        ),
        ('[web.search.searxng]\nurl = "ftp://a"', "search.searxng.url"),
        ('[web.search.searxng]\nurl = "http://user@host/"', "search.searxng.url"),
        ("[web.search.brave]\nkey = 5", "search.brave.key"),
        ('[web.search.brave]\nkey = "a"\n[web.search.duckduckgo]', "search.*must name one"),
    ],
)
def test_a_search_that_cannot_work_is_refused_by_name(text: str, why: str) -> None:
    with pytest.raises(ConfigRefused, match=rf"web\.{why}"):
        web(text)


def test_the_key_shows_itself_to_nobody() -> None:
    assert "canary" not in repr(web('[web.search.brave]\nkey = "canary-7f3a"'))
