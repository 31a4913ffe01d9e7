import configparser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config import Secret
from agent.provision import wifi
from agent.provision.settings import WifiSettings

PRINTABLE = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=63)


def _parsed(settings: WifiSettings) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(comment_prefixes=("#",), delimiters=("=",))
    parser.read_string(wifi.connection(settings))
    return parser


def test_a_network_with_a_password(tmp_path: Path) -> None:
    wifi.connect(tmp_path, WifiSettings(ssid="Möwe;#", password=Secret("12345678"), hidden=True))
    [path] = tmp_path.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    parser = configparser.RawConfigParser()
    parser.read_string(path.read_text())
    assert parser["wifi"]["ssid"] == "77;195;182;119;101;59;35;"
    assert parser["wifi"]["hidden"] == "true"
    assert dict(parser["wifi-security"]) == {"key-mgmt": "wpa-psk", "psk": "12345678"}
    assert parser["connection"]["type"] == "wifi"


def test_an_open_network_has_no_security() -> None:
    assert "wifi-security" not in _parsed(WifiSettings(ssid="Cafe"))


def test_the_same_network_is_the_same_connection() -> None:
    first, second = (_parsed(WifiSettings(ssid="a"))["connection"]["uuid"] for _ in range(2))
    assert first == second
    assert _parsed(WifiSettings(ssid="b"))["connection"]["uuid"] != first


@given(PRINTABLE)
def test_the_password_that_was_kept_is_found_again(
    tmp_path_factory: pytest.TempPathFactory, password: str
) -> None:
    folder = tmp_path_factory.mktemp("connections")
    wifi.connect(folder, WifiSettings(ssid="a", password=Secret(password)))
    assert wifi.password_kept(folder) == password


def test_no_password_is_kept_at_first(tmp_path: Path) -> None:
    assert wifi.password_kept(tmp_path) == ""
