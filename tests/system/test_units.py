"""The units and rules of systemd/, looked at by systemd's own programs."""

import ipaddress
import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from agent.channels.attached.socket import SYSTEM_FOLDER
from agent.cli import exits
from agent.health.starts import MANY_STARTS, WITHIN_S
from agent.link.discovery import _VENDORS
from tests.structure.sources import ROOT

UNITS = ROOT / "systemd"
# Of ten, where less is better
MOST_EXPOSED = {
    "barnacle.service": 2.0,
    "barnacle-signal.service": 1.3,
    "barnacle-model.service": 1.3,
    "barnacle-model-server.service": 1.3,
    "barnacle-console.service": 1.2,
}
# What systemd 252 does not know yet, and is as well without
_NEWER_KEYS = ("RestartSteps", "RestartMaxDelaySec", "PrivatePIDs", "ImportCredential")
_PROGRAMS = re.compile(r"^(Exec\w+=-?)(?:/opt/|/usr/bin/llama)\S+", re.MULTILINE)


FOLDERS = (
    *("var/lib/barnacle/workspace", "var/lib/barnacle-program"),
    *("etc/barnacle", "etc/credstore"),
)


def _program(name: str) -> str:
    return shutil.which(name) or ""


ANALYZE, SYSUSERS = _program("systemd-analyze"), _program("systemd-sysusers")
TMPFILES = _program("systemd-tmpfiles")
needs_analyze = pytest.mark.skipif(not ANALYZE, reason="systemd-analyze is not installed")
needs_folders = pytest.mark.skipif(
    not (SYSUSERS and TMPFILES), reason="systemd-sysusers and systemd-tmpfiles are not installed"
)


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """Copies whose programs exist here."""
    for unit in (*UNITS.glob("*.service"), *UNITS.glob("*.socket")):
        (tmp_path / unit.name).write_text(_PROGRAMS.sub(r"\1/bin/true", unit.read_text()))
    return tmp_path


def _said(*command: object) -> str:
    done = subprocess.run(
        [*map(str, command)], capture_output=True, check=False, text=True, timeout=15
    )
    return done.stdout + done.stderr


def _values(unit: str, key: str) -> list[str]:
    text = (UNITS / unit).read_text()
    return re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)


@needs_analyze
@pytest.mark.parametrize("unit", MOST_EXPOSED)
def test_little_is_exposed(units: Path, unit: str) -> None:
    told = _said(ANALYZE, "security", "--offline=true", units / unit)
    found = re.search(r"Overall exposure level .*: ([0-9.]+)", told)
    assert found is not None, told
    assert float(found[1]) <= MOST_EXPOSED[unit]


@needs_analyze
def test_systemd_understands_every_line(units: Path) -> None:
    told = _said(ANALYZE, "verify", *sorted(units.iterdir())).splitlines()
    ours = [line for line in told if "barnacle" in line]
    newer = tuple(f"Unknown key '{key}'" for key in _NEWER_KEYS)
    assert [line for line in ours if not any(key in line for key in newer)] == []


@needs_analyze
def test_systemd_would_complain_of_a_line_that_it_does_not_know(units: Path) -> None:
    unit = units / "barnacle.service"
    unit.write_text(unit.read_text().replace("WatchdogSec=30s", "WatchdogSec=often"))
    assert "Failed to parse sec value, ignoring: often" in _said(ANALYZE, "verify", unit)


@needs_analyze
def test_the_drop_in_for_sound_is_understood_and_opens_sound_alone(units: Path) -> None:
    guide = (ROOT / "agent/channels/voice/README.md").read_text()
    [lines] = re.findall(r"^ +```ini\n(.*?)^ +```$", guide, re.MULTILINE | re.DOTALL)
    drop_in = units / "barnacle.service.d" / "sound.conf"
    drop_in.parent.mkdir()
    drop_in.write_text(textwrap.dedent(lines))
    told = _said(ANALYZE, "verify", units / "barnacle.service")
    assert [line for line in told.splitlines() if drop_in.name in line] == []
    told = _said(ANALYZE, "security", "--offline=true", units / "barnacle.service")
    [devices] = re.findall(r"some special devices: (.*?) +[0-9.]+$", told, re.MULTILINE)
    before = {line.split()[0] for line in _values("barnacle.service", "DeviceAllow")}
    added = {one.rpartition(":")[0] for one in devices.split()} - before
    # The clock is read-only, and systemd's own addition for ProtectClock
    assert added - {"char-rtc"} == {"char-alsa"}
    [grade] = re.findall(r"Overall exposure level .*: ([0-9.]+)", told)
    assert float(grade) <= MOST_EXPOSED["barnacle.service"]


_SHORT = {"multicast": ("224.0.0.0/4", "ff00::/8"), "any": ("0.0.0.0/0", "::/0")}


def _is_dropped(unit: str, address: str) -> bool:
    told = " ".join(_values(unit, "IPAddressDeny")).split()
    networks = [net for one in told for net in _SHORT.get(one, (one,))]
    found = ipaddress.ip_address(address)
    return any(found in ipaddress.ip_network(net) for net in networks)


@pytest.mark.parametrize(
    "unit",
    [
        *("barnacle.service", "barnacle-signal.service", "barnacle-mcp@.service"),
        "barnacle-program-online@.service",
    ],
)
def test_the_kernel_drops_what_no_honest_service_answers_at(unit: str) -> None:
    for address in (
        *("169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16"),
        *("fd00:ec2::254", "fd20:ce::254", "224.0.0.251", "ff02::fb", "255.255.255.255", "0.0.0.0"),
    ):
        assert _is_dropped(unit, address), address
    # A model, a broker and a printer of the household, and the router's name server
    for address in (
        *("127.0.0.1", "::1", "192.168.1.20", "10.0.0.5", "172.16.3.4", "100.64.0.7"),
        *("fd12:3456::7", "fe80::1", "8.8.8.8", "2606:4700::1111"),
    ):
        assert not _is_dropped(unit, address), address


def test_a_program_apart_reaches_nothing() -> None:
    for unit in (
        *("barnacle-tool@.service", "barnacle-program@.service", "barnacle-browser@.service"),
    ):
        assert _values(unit, "IPAddressDeny") == ["any"]
        assert _values(unit, "PrivateNetwork") == ["yes"]


@needs_folders
def test_users_groups_and_folders_are_as_the_units_need_them(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    _said(SYSUSERS, f"--root={tmp_path}", UNITS / "sysusers.d/barnacle.conf")
    _said(TMPFILES, f"--root={tmp_path}", "--create", UNITS / "tmpfiles.d/barnacle.conf")
    lines = [line.split(":") for line in (tmp_path / "etc/group").read_text().splitlines()]
    members = {name: users for name, _, _, users in lines}
    for group in _values("barnacle.service", "SupplementaryGroups")[0].split():
        assert members[group] == "barnacle"
    # The local model has a user of the moment
    for user in (user for unit in MOST_EXPOSED for user in _values(unit, "User")):
        assert f"\n{user}:" in "\n" + (tmp_path / "etc/passwd").read_text()
    modes = {folder: (tmp_path / folder).stat().st_mode & 0o777 for folder in FOLDERS}
    assert modes == {
        "var/lib/barnacle/workspace": 0o700,
        "var/lib/barnacle-program": 0o700,
        "etc/barnacle": 0o750,
        "etc/credstore": 0o700,
    }


def test_a_board_that_is_looked_for_has_a_stable_name() -> None:
    rules = (UNITS / "udev/70-barnacle.rules").read_text()
    named = set(re.findall(r'ENV\{ID_VENDOR_ID\}=="(\w{4})"', rules))
    assert {f"{vendor:04x}" for vendor in _VENDORS} < named
    assert set(re.findall(r'GOTO="(\w+)"', rules)) == set(re.findall(r'LABEL="(\w+)"', rules))


def test_the_unit_fits_the_agent() -> None:
    assert _values("barnacle.service", "RestartPreventExitStatus") == [str(exits.USAGE)]
    assert [f"/run/{_values('barnacle.service', 'RuntimeDirectory')[0]}"] == [str(SYSTEM_FOLDER)]
    # The safe mode begins before the service is given up
    assert int(_values("barnacle.service", "StartLimitBurst")[0]) > MANY_STARTS
    assert _values("barnacle.service", "StartLimitIntervalSec") == ["30min"]
    assert WITHIN_S < 30 * 60


def test_the_agent_waits_for_no_network() -> None:
    # Without one it goes on offline, and a house's router may start later than the Pi
    before = {"barnacle.service", *" ".join(_values("barnacle.service", "After")).split()}
    for unit in sorted(path.name for path in UNITS.glob("*.service")):
        if unit in before or "barnacle.service" in " ".join(_values(unit, "Before")).split():
            assert "network-online.target" not in " ".join(_values(unit, "After")), unit


def test_the_card_keeps_every_state_folder_of_a_unit() -> None:
    """`/var` of the card is in memory."""
    mounts = [
        line.split()[:2] for line in (ROOT / "image/overlay/etc/fstab").read_text().splitlines()
    ]
    kept = {target for source, target in mounts if source.startswith("/data/")}
    named = [
        folder
        for unit in UNITS.glob("*.service")
        for line in unit.read_text().splitlines()
        if line.startswith("StateDirectory=")
        for folder in line.partition("=")[2].split()
    ]
    assert "barnacle" in named
    assert {f"/var/lib/{folder}" for folder in named} - kept == set()
