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
