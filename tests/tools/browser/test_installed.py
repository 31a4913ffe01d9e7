from pathlib import Path

import pytest

from agent.machine.readings import Readings
from agent.security.sandbox import bubblewrap
from agent.tools.browser.installed import (
    SOCKET,
    browser_sandbox,
    find_program,
    trouble_with_browser,
)
from agent.tools.browser.process import FILES, PROCESSES, SCRATCH_BYTES
from tests.fakes.sandbox import no_bubblewrap
from tests.waits import PATIENCE_S

UNITS = Path(__file__).parents[3] / "systemd"


def machine(folder: Path, total_kb: int) -> Readings:
    (folder / "proc").mkdir()
    (folder / "proc/meminfo").write_text(f"MemTotal:  {total_kb} kB\n")
    return Readings(folder, folder)


def test_a_machine_with_little_memory_is_told_so(tmp_path: Path) -> None:
    trouble = trouble_with_browser("", machine(tmp_path, 430_000))
    assert trouble == "a browser needs 800 MB of memory, and this machine has 419 MB"


def test_a_program_that_is_missing_is_named(tmp_path: Path) -> None:
    trouble = trouble_with_browser("/nowhere/chromium", machine(tmp_path, 4_000_000))
    assert trouble == "/nowhere/chromium not found (browser.program)"


def test_the_first_that_is_there_is_taken(tmp_path: Path) -> None:
    there = tmp_path / "chromium"
    there.touch()
    assert find_program("", ("/nowhere/chromium", str(there))) == str(there)
    assert find_program("", ("/nowhere/chromium",)) == ""
    assert find_program(str(there), ()) == str(there)


def test_the_unit_listens_where_it_is_looked_for_and_has_room_for_a_browser() -> None:
    assert f"\nListenStream={SOCKET}\n" in (UNITS / "barnacle-browser.socket").read_text()
    unit = (UNITS / "barnacle-browser@.service").read_text()
    assert f"\nTasksMax={PROCESSES}\n" in unit
    assert f"\nLimitNOFILE={FILES}\n" in unit
    assert f"\nLimitFSIZE={SCRATCH_BYTES // 1024**2}M\n" in unit
    # Never the agent's own files, nor those of its other programs
    assert " -/var/lib/barnacle " in unit.replace("=", " ")
    assert "\nDynamicUser=yes\n" in unit


@pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap() or "there is one")
def test_without_our_unit_bubblewrap_keeps_it_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "PROBE_TIMEOUT_S", PATIENCE_S)
    choice = browser_sandbox(tmp_path / "none")
    assert choice.sandbox is not None
    assert choice.sandbox.name == "bubblewrap"
