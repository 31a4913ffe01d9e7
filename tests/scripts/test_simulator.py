"""The simulated board's life, with small programs in its place."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.lib.progress import StepFailed
from scripts.lib.simulator import Simulator
from tests.structure.sources import ROOT

# Listens at once, writes down how it ended
WELL_BEHAVED = """\
import os, signal, sys, time
link, record = sys.argv[2], sys.argv[4]
signal.signal(signal.SIGTERM, lambda *_: sys.exit(open(record, "a").write("safe\\n") and 0))
os.symlink("/dev/null", link)
time.sleep(60)
"""
KILLED_PARENT = """\
import os, signal, sys
from pathlib import Path
from scripts.lib.simulator import Simulator
place = Path(sys.argv[1])
Simulator(place, place / "run").start(dict(os.environ))
os.kill(os.getpid(), signal.SIGKILL)
"""
FAILS = "raise SystemExit('no interpreter')"
ENDS_LATER = "import os, sys, time; os.symlink('/dev/null', sys.argv[2])"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A checkout with a `scripts/board-sim` to be written; what runs there is ended."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "run").mkdir()
    yield tmp_path
    Simulator(tmp_path, tmp_path / "run").end_left_over()


def simulator(place: Path, program: str) -> Simulator:
    board_sim = place / "scripts" / "board-sim"
    board_sim.write_text(f"#!{sys.executable}\n{program}")
    board_sim.chmod(0o755)
    return Simulator(place, place / "run")


def pid_in(place: Path) -> int:
    return int((place / "run" / "board.pid").read_text())


def test_it_is_ready_when_its_link_is_there_and_ends_in_its_own_way(place: Path) -> None:
    board = simulator(place, WELL_BEHAVED)
    board.start(dict(os.environ))
    assert board.link.exists()
    board.stop()
    assert board.record.read_text() == "safe\n"
    assert not (place / "run" / "board.pid").exists()


def test_it_has_a_session_of_its_own(place: Path) -> None:
    board = simulator(place, WELL_BEHAVED)
    board.start(dict(os.environ))
    assert os.getsid(pid_in(place)) == pid_in(place) != os.getsid(0)
    board.stop()


def test_one_that_an_earlier_chat_left_behind_is_replaced(place: Path) -> None:
    board = simulator(place, WELL_BEHAVED)
    # A chat's parent that is killed outright
    subprocess.run([sys.executable, "-c", KILLED_PARENT, place], cwd=ROOT, check=False)
    left_over = pid_in(place)
    assert Path(f"/proc/{left_over}").exists()
    board.start(dict(os.environ))
    assert pid_in(place) != left_over
    assert board.record.read_text() == "safe\n"
    board.stop()


def test_a_stranger_with_the_number_of_an_old_one_is_left_alone(place: Path) -> None:
    board = simulator(place, WELL_BEHAVED)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        (place / "run" / "board.pid").write_text(str(stranger.pid))
        board.end_left_over()
        assert stranger.poll() is None
        stranger.communicate(b"\n")


def test_one_that_fails_shows_its_last_words(place: Path) -> None:
    board = simulator(place, FAILS)
    with pytest.raises(StepFailed, match="no interpreter"):
        board.start(dict(os.environ))


def test_one_that_ended_by_itself_is_no_trouble(place: Path) -> None:
    board = simulator(place, ENDS_LATER)
    board.start(dict(os.environ))
    board.stop()
