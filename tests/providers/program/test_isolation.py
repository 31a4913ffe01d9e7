import socket
from pathlib import Path

import pytest

from agent.providers.program.isolation import (
    ONLINE_SOCKET,
    SOCKET,
    UNITS_HOME,
    ProgramIsolation,
    missing,
)
from agent.providers.settings import ProgramSettings
from agent.security.environment import SANDBOX_HOME
from tests.fakes.sandbox import no_bubblewrap
from tests.structure.sources import ROOT

CAT = ProgramSettings(command=("cat",))


@pytest.mark.parametrize("network", [True, False])
def test_each_unit_has_its_own_socket_and_both_one_home(tmp_path: Path, *, network: bool) -> None:
    isolation = ProgramIsolation(tmp_path / "off", tmp_path / "on", tmp_path)
    with socket.socket(socket.AF_UNIX) as here:
        here.bind(str(tmp_path / ("on" if network else "off")))
        place = isolation.place(ProgramSettings(command=("cat",), network=network, home="/root"))
    assert place.sandbox is not None
    assert place.sandbox.name == "systemd"
    assert (place.home, place.told_home) == (tmp_path, tmp_path)


@pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())
def test_elsewhere_it_is_bubblewrap_with_the_declared_home(tmp_path: Path) -> None:
    isolation = ProgramIsolation(tmp_path / "off", tmp_path / "on")
    place = isolation.place(CAT)
    assert place.sandbox is not None
    assert (place.sandbox.name, place.home, place.told_home) == ("bubblewrap", None, SANDBOX_HOME)
    place = isolation.place(ProgramSettings(command=("cat",), home=str(tmp_path)))
    assert place.home == tmp_path


def test_without_isolation_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.security.sandbox.choice.find_program", lambda: None)
    place = ProgramIsolation(tmp_path / "off", tmp_path / "on").place(CAT)
    assert place.sandbox is None
    assert "apt install bubblewrap" in place.trouble


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    assert missing(CAT) == ""
    gone = ProgramSettings(command=(f"{tmp_path}/gone",))
    assert missing(gone).startswith(f"program {tmp_path}/gone not found (program.command)")
    assert "in /usr/bin:/bin" in missing(ProgramSettings(command=("gone-cli",)))
    reads = ProgramSettings(command=("cat",), reads=(f"{tmp_path}/gone",))
    assert "program.reads" in missing(reads)
    (tmp_path / "file").touch()
    home = ProgramSettings(command=("cat",), home=f"{tmp_path}/file")
    assert "is not a folder (program.home)" in missing(home)


def test_the_units_listen_where_they_are_looked_for() -> None:
    for name, address in (("barnacle-program", SOCKET), ("barnacle-program-online", ONLINE_SOCKET)):
        assert f"\nListenStream={address}\n" in (ROOT / f"systemd/{name}.socket").read_text()
        unit = (ROOT / f"systemd/{name}@.service").read_text()
        assert f"\nStateDirectory={UNITS_HOME.name}\n" in unit
        assert "\nUser=barnacle-program\n" in unit
        assert " -/var/lib/barnacle " in unit.replace("=", " ")
