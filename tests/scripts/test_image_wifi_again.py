"""The script that joins the Wi-Fi of a card again."""

import os
import subprocess
from pathlib import Path

import pytest

from agent.machine.wireless import WIFI_REFUSED
from agent.provision import wifi
from agent.provision.settings import WifiSettings
from image.lib import system_tree

SCRIPT = system_tree.OVERLAY / "usr/lib/barnacle/wifi-again"
CONNECTIONS = "etc/NetworkManager/system-connections"


# In nmcli's words, without and with the number that older ones print
REFUSED = "Error: Connection activation failed: (7) Secrets were required, but not provided."
FAR = "Error: Connection activation failed: (53) The Wi-Fi network could not be found."


def look(
    root: Path,
    *,
    active: str,
    is_joined: bool = True,
    error: str = "",
    radio: str = "wifi:disconnected",
    in_sight: str = "Home",
) -> tuple[str, list[str]]:
    """What it says, and what it asked of NetworkManager."""
    asked, folder = root / "asked", root / "bin"
    folder.mkdir(exist_ok=True)
    status = 0 if is_joined else 4
    (folder / "nmcli").write_text(
        f'#!/bin/sh\necho "$@" >>{asked}\n'
        f'case "$*" in *--active) printf %s "{active}";;\n'
        f'*STATE*) printf "ethernet:connected\\n{radio}\\n";;\n'
        f'*list) echo "{in_sight.encode().hex().upper()}";;\n'
        f'*) printf %s "{error}" >&2; exit {status};; esac\n'
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


def an_hour_older(note: Path) -> None:
    then_s = note.stat().st_mtime - 3700
    os.utime(note, (then_s, then_s))


@pytest.fixture
def card(tmp_path: Path) -> Path:
    """A card with a Wi-Fi."""
    (tmp_path / CONNECTIONS).mkdir(parents=True)
    made = wifi.connection(WifiSettings(ssid="Home"))
    (tmp_path / CONNECTIONS / wifi.NAME).write_text(made)
    (tmp_path / WIFI_REFUSED).parent.mkdir(parents=True)
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


def test_a_refused_password_is_said_once_and_noted_until_it_is_taken(card: Path) -> None:
    note = card / WIFI_REFUSED
    assert "password" in look(card, active="lo\n", is_joined=False, error=REFUSED)[0]
    assert note.exists()
    # Each line would be written to the card
    an_hour_older(note)
    assert look(card, active="lo\n", is_joined=False, error=REFUSED)[0] == ""
    assert note.exists()
    an_hour_older(note)
    look(card, active="lo\n")
    assert not note.exists()


def test_what_cannot_succeed_is_not_tried(card: Path) -> None:
    """Each try is thirty lines in NetworkManager's log, on the card."""
    for radio in ("wifi:unavailable", "wifi:connecting (configuring)", "loopback:connected"):
        look(card, active="lo\n", radio=radio)
    look(card, active="lo\n", in_sight="Neighbours")
    look(card, active="lo\n", is_joined=False, error=REFUSED)
    asked = look(card, active="lo\n", is_joined=False, error=REFUSED)[1]
    assert sum("up" in words.split() for words in asked) == 1


def test_a_hidden_network_is_never_in_sight(card: Path) -> None:
    hidden = WifiSettings(ssid="Büro's; 2", hidden=True)
    (card / CONNECTIONS / wifi.NAME).write_text(wifi.connection(hidden))
    assert "joined" in look(card, active="lo\n", in_sight="Neighbours")[0]


def test_a_network_is_known_by_its_name_in_numbers(card: Path) -> None:
    named = WifiSettings(ssid="Büro's; 2")
    (card / CONNECTIONS / wifi.NAME).write_text(wifi.connection(named))
    assert "joined" in look(card, active="lo\n", in_sight="Büro's; 2")[0]


def test_a_wifi_joined_meanwhile_has_taken_the_password(card: Path) -> None:
    look(card, active="lo\n", is_joined=False, error=REFUSED)
    look(card, active="barnacle-wifi\n")
    assert not (card / WIFI_REFUSED).exists()


def test_a_network_out_of_reach_refuses_no_password(card: Path) -> None:
    assert look(card, active="lo\n", is_joined=False, error=FAR)[0] == ""
    assert not (card / WIFI_REFUSED).exists()


def test_the_note_outlives_the_run_of_the_unit() -> None:
    unit = system_tree.OVERLAY / "usr/lib/systemd/system/barnacle-wifi-again.service"
    folder = WIFI_REFUSED.split("/")[1]
    lines = unit.read_text().splitlines()
    assert {f"RuntimeDirectory={folder}", "RuntimeDirectoryPreserve=yes"} <= set(lines)


def test_it_is_looked_at_from_the_first_start_on() -> None:
    assert "barnacle-wifi-again.timer" in system_tree.ENABLED
