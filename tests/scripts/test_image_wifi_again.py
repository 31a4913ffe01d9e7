"""The script that joins the Wi-Fi of a card again."""

import os
import subprocess
from pathlib import Path

import pytest

from agent.provision import wifi
from agent.provision.settings import WifiSettings
from image.lib import system_tree

SCRIPT = system_tree.OVERLAY / "usr/lib/barnacle/wifi-again"
CONNECTIONS = "etc/NetworkManager/system-connections"


def look(root: Path, *, active: str, is_joined: bool = True) -> tuple[str, list[str]]:
    """What it says, and what it asked of NetworkManager."""
    asked, folder = root / "asked", root / "bin"
    folder.mkdir()
    status = 0 if is_joined else 4
    (folder / "nmcli").write_text(
        f'#!/bin/sh\necho "$@" >>{asked}\n'
        f'case "$*" in *--active) printf %s "{active}";; *) exit {status};; esac\n'
    )
    (folder / "nmcli").chmod(0o755)
    path = f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"
    done = subprocess.run(
        [SCRIPT],
        env={"PATH": path, "WIFI_AGAIN_ROOT": str(root)},
        capture_output=True,
        text=True,
        check=True,
        timeout=15,
    )
    return done.stdout, asked.read_text().splitlines() if asked.exists() else []


@pytest.fixture
def card(tmp_path: Path) -> Path:
    """A card with a Wi-Fi."""
    (tmp_path / CONNECTIONS).mkdir(parents=True)
    (tmp_path / CONNECTIONS / wifi.NAME).touch()
    return tmp_path


def test_a_wifi_that_was_given_up_is_joined_again(card: Path) -> None:
    said, asked = look(card, active="lo\nWired connection 1\n")
    assert asked[-1] == "--wait 60 connection up barnacle-wifi"
    assert "joined again" in said
    assert "id=barnacle-wifi\n" in wifi.connection(WifiSettings(ssid="Home"))


def test_one_that_is_joined_or_on_its_way_is_left_alone(card: Path) -> None:
    assert look(card, active="lo\nbarnacle-wifi\n")[0] == ""
    assert len((card / "asked").read_text().splitlines()) == 1


def test_a_card_without_wifi_asks_nobody(tmp_path: Path) -> None:
    assert look(tmp_path, active="lo\n") == ("", [])


def test_without_a_radio_or_a_network_nothing_fails(card: Path) -> None:
    assert look(card, active="lo\n", is_joined=False)[0] == ""


def test_it_is_looked_at_from_the_first_start_on() -> None:
    assert "barnacle-wifi-again.timer" in system_tree.ENABLED
