"""The settings on a card: how they get there, and the units that take them over."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from agent.app.console.setup_lines import SOCKET
from agent.channels.signal import shown_code
from agent.config import decode
from agent.errors import ConfigRefused
from agent.provision.settings import CardSettings
from image.lib import first_boot, system_tree
from image.lib.layout import FIRMWARE

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
UNITS = system_tree.OVERLAY / "usr/lib/systemd/system"
OURS = ("barnacle-provision.service", "barnacle-pairing.service", "barnacle-ssh.service")
# Started by the agent, over a socket of its own
ASKED = ("barnacle-first-start.socket", "barnacle-first-start@.service")
# Started by a file that the agent writes
SHOWN = ("barnacle-signal-code.path", "barnacle-signal-code.service")
MOST_EXPOSED = {
    "barnacle-provision.service": 3.0,
    "barnacle-pairing.service": 2.6,
    "barnacle-first-start@.service": 2.6,
    "barnacle-signal-code.service": 1.5,
    "barnacle-wifi-again.service": 4.0,
}
_PROGRAMS = re.compile(r"^(Exec\w+=)/(?:opt|usr/lib/barnacle|usr/sbin/sshd)\S*", re.MULTILINE)
ANALYZE = shutil.which("systemd-analyze") or ""
needs_analyze = pytest.mark.skipif(not ANALYZE, reason="systemd-analyze is not installed")


@pytest.fixture
def card(tmp_path: Path) -> Path:
    """A card with an empty firmware partition and nothing else."""
    missing = [name for name in ("mkfs.vfat", "mcopy") if shutil.which(name, path=PATH) is None]
    if missing:
        pytest.skip(f"no {', '.join(missing)} here (packages dosfstools and mtools)")
    made = tmp_path / "card.img"
    with made.open("wb") as file:
        file.truncate(FIRMWARE.start_bytes + FIRMWARE.size_bytes)
    command = ["mkfs.vfat", "-F", "32", "--offset", str(FIRMWARE.start_bytes // 512), made]
    command += [str(FIRMWARE.size_bytes // 1024)]
    subprocess.run(command, check=True, capture_output=True, env={"PATH": PATH})
    return made


def test_what_is_put_on_a_card_is_found_there(card: Path) -> None:
    assert first_boot.get(card, "barnacle.toml") == ""
    first_boot.put(card, "barnacle.toml", first_boot.SETTINGS)
    assert first_boot.get(card, "barnacle.toml") == first_boot.SETTINGS
    assert first_boot.left_on(card) == list(first_boot.SECRETS)
    first_boot.put(card, "barnacle.toml", "# nothing\n")
    assert first_boot.get(card, "barnacle.toml") == "# nothing\n"


def test_the_settings_are_right_and_the_wrong_ones_are_not() -> None:
    told = decode(first_boot.SETTINGS, CardSettings, Path("barnacle.toml"))
    assert told.device.hostname == tomllib.loads(first_boot.SETTINGS)["device"]["hostname"]
    with pytest.raises(ConfigRefused, match=re.escape(first_boot.WRONG_KEY)):
        decode(first_boot.WRONG, CardSettings, Path("barnacle.toml"))


def test_every_look_looks() -> None:
    for name, look in first_boot.LOOKS.items():
        assert look(lambda _command: "nothing of the kind")[1] is False, name


def test_the_units_are_started_with_the_image() -> None:
    assert set(OURS) <= set(system_tree.ENABLED)
    for unit in OURS:
        assert "\nWantedBy=multi-user.target\n" in (UNITS / unit).read_text()


def test_the_agent_alone_may_hand_over_answers() -> None:
    assert ASKED[0] in system_tree.ENABLED
    told = (UNITS / ASKED[0]).read_text()
    assert f"ListenStream={SOCKET}\n" in told
    assert "SocketUser=barnacle\n" in told
    assert "SocketMode=0600\n" in told


def test_a_code_that_links_signal_comes_to_the_screen_by_itself() -> None:
    assert SHOWN[0] in system_tree.ENABLED
    told = (UNITS / SHOWN[0]).read_text()
    assert f"PathExists=/run/barnacle/{shown_code.NAME}\n" in told
    assert "WantedBy=paths.target\n" in told


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """Copies whose programs exist here."""
    for unit in (path.name for path in UNITS.iterdir() if path.is_file()):
        (tmp_path / unit).write_text(_PROGRAMS.sub(r"\1/bin/true", (UNITS / unit).read_text()))
    return tmp_path


def _said(*command: object) -> str:
    words = [*map(str, command)]
    done = subprocess.run(words, capture_output=True, check=False, text=True, timeout=15)
    return done.stdout + done.stderr


@needs_analyze
def test_systemd_understands_every_line(units: Path) -> None:
    told = _said(ANALYZE, "verify", *sorted(units.iterdir())).splitlines()
    assert [line for line in told if "barnacle" in line] == []


@needs_analyze
@pytest.mark.parametrize("unit", MOST_EXPOSED)
def test_little_is_exposed(units: Path, unit: str) -> None:
    told = _said(ANALYZE, "security", "--offline=true", units / unit)
    found = re.search(r"Overall exposure level .*: ([0-9.]+)", told)
    assert found is not None, told
    assert float(found[1]) <= MOST_EXPOSED[unit]
