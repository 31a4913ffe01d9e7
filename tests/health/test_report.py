import asyncio
import errno
import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agent import __version__
from agent.errors import StorageFull
from agent.health import report
from agent.health.report import LastError, Reporter, Subjects
from agent.health.status import AgentStatus, read_status
from agent.link.base import BoardIdentity, BoardState, BoardStatus
from agent.security.estop import EmergencyStop
from tests.fakes.board import FakeBoard
from tests.fakes.clock import SteppedClock
from tests.fakes.jumping_clock import JumpingClock

# As a machine without a battery starts: when it was switched off
BEFORE_S = 1_800_000_000.0


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def board() -> FakeBoard:
    return FakeBoard()


@pytest.fixture
def last_error() -> LastError:
    return LastError()


@pytest.fixture
def reporter(
    tmp_path: Path, clock: SteppedClock, board: FakeBoard, last_error: LastError
) -> Reporter:
    subjects = Subjects("offline", [board], ["terminal"], last_error, EmergencyStop(tmp_path))
    return Reporter(tmp_path / "status.json", subjects, clock)


def logged(handler: LastError, level: int, text: str) -> None:
    handler.handle(logging.LogRecord("x", level, "x", 1, text, (), None))


def test_a_person_is_told_how_long_and_with_what(reporter: Reporter, clock: SteppedClock) -> None:
    assert reporter.sentences().startswith(
        f"Barnacle {__version__}, just started.\nModel: offline.\nBoard: "
    )
    clock.advance(3 * 3600 + 4 * 60 + 5)
    assert "up for 3 h 4 min." in reporter.sentences()


def test_a_clock_that_is_set_late_changes_when_it_began_and_not_how_long(tmp_path: Path) -> None:
    clock = JumpingClock(BEFORE_S)
    subjects = Subjects("offline", [FakeBoard()], [], LastError(), EmergencyStop(tmp_path))
    made = Reporter(tmp_path / "status.json", subjects, clock)
    clock.jump(200 * 86_400)
    assert "just started" in made.sentences()
    assert made.status().since_s == BEFORE_S + 200 * 86_400
    # A second that the network corrects is no reason to write
    clock.jump(1)
    assert made.status().since_s == BEFORE_S + 200 * 86_400


def test_an_unplugged_board_is_told_with_its_reason(reporter: Reporter, board: FakeBoard) -> None:
    board.unplug()
    assert report.board_sentence(reporter.status().board) in reporter.sentences()
    assert reporter.status().board.state != BoardState.READY.value


def test_the_last_trouble_is_told_in_one_line(reporter: Reporter, last_error: LastError) -> None:
    assert "trouble" not in reporter.sentences()
    logged(last_error, logging.ERROR, "the disk\nis full")
    assert reporter.sentences().endswith(": the disk is full")


def test_what_today_has_cost_is_told(
    tmp_path: Path, clock: SteppedClock, board: FakeBoard, last_error: LastError
) -> None:
    stop, said = EmergencyStop(tmp_path), ["", "1 request, 5 tokens, 0.0100 USD"]
    subjects = Subjects("openai", [board], [], last_error, stop, spending=lambda: said[0])
    reporter = Reporter(tmp_path / "status.json", subjects, clock)
    assert "Spent" not in reporter.sentences()
    del said[0]
    assert "\nSpent today: 1 request, 5 tokens, 0.0100 USD." in reporter.sentences()


def test_what_is_to_be_said_of_the_memory_is_told(
    tmp_path: Path, clock: SteppedClock, board: FakeBoard, last_error: LastError
) -> None:
    said = ["", "3 memories wait for their vectors"]
    stop = EmergencyStop(tmp_path)
    subjects = Subjects("offline", [board], [], last_error, stop, lambda: said[0])
    reporter = Reporter(tmp_path / "status.json", subjects, clock)
    assert "Memory" not in reporter.sentences()
    del said[0]
    assert "Memory: 3 memories wait for their vectors." in reporter.sentences()
    assert reporter.status().memory == "3 memories wait for their vectors"


def test_what_hurts_the_machine_is_told(
    tmp_path: Path, clock: SteppedClock, board: FakeBoard, last_error: LastError
) -> None:
    said = [(), ("the card reports errors (3 on mmcblk0p4)",)]
    stop = EmergencyStop(tmp_path)
    subjects = Subjects("offline", [board], [], last_error, stop, machine=lambda: said[0])
    reporter = Reporter(tmp_path / "status.json", subjects, clock)
    assert reporter.status().machine == ()
    del said[0]
    assert "\nThe card reports errors (3 on mmcblk0p4)." in reporter.sentences()
    assert reporter.status().machine == ("the card reports errors (3 on mmcblk0p4)",)


async def test_an_emergency_stop_is_told_first(reporter: Reporter) -> None:
    await reporter._subjects.stop.engage("by Ada")
    assert "STOPPED: the emergency stop is set (by Ada)" in reporter.sentences().splitlines()[1]
    assert reporter.status().stopped == "by Ada"


def test_every_board_is_told_by_its_name(
    reporter: Reporter, tmp_path: Path, clock: SteppedClock, last_error: LastError
) -> None:
    assert "Link: 0 frames" in reporter.sentences()
    boards = [FakeBoard(name="garden"), FakeBoard(name="cellar", plugged_in=False)]
    subjects = Subjects("offline", boards, [], last_error, EmergencyStop(tmp_path))
    several = Reporter(tmp_path / "status.json", subjects, clock)
    assert "Board garden: simulated on " in several.sentences()
    assert "Board cellar: absent" in several.sentences()
    status = several.status()
    assert [board.name for board in status.every_board] == ["garden", "cellar"]
    assert status.board == status.boards[0]


async def rounds_of(reporter: Reporter, rounds: int, change: Callable[[], None]) -> None:
    """Let it look that often, with a change half way."""
    keeping = asyncio.ensure_future(reporter.keep())
    for number in range(2 * rounds):
        await asyncio.sleep(0)
        if number == rounds:
            change()
    keeping.cancel()


def test_the_file_is_written_once_for_each_change(
    reporter: Reporter, last_error: LastError, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[AgentStatus] = []
    monkeypatch.setattr(report, "write_status", lambda _, status: written.append(status))
    asyncio.run(rounds_of(reporter, 10, lambda: logged(last_error, logging.WARNING, "something")))
    assert [status.last_error for status in written] == ["", "something"]


def test_what_is_written_can_be_read(tmp_path: Path, reporter: Reporter) -> None:
    asyncio.run(rounds_of(reporter, 2, lambda: None))
    assert read_status(tmp_path / "status.json") == reporter.status()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_is_full_or_failing_does_not_end_the_keeping(
    reporter: Reporter, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refused(_handle: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", refused)

    async def keep() -> bool:
        keeping = asyncio.ensure_future(reporter.keep())
        for _ in range(6):
            await asyncio.sleep(0)
        is_alive = not keeping.done()
        keeping.cancel()
        return is_alive

    assert asyncio.run(keep())


def test_what_is_not_on_disk_is_said_once_until_it_is(
    reporter: Reporter,
    last_error: LastError,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_full = True

    def written(*_: object) -> None:
        if is_full:
            raise StorageFull("no room")

    def make_room() -> None:
        nonlocal is_full
        is_full = False
        logged(last_error, logging.WARNING, "something")

    def fill() -> None:
        nonlocal is_full
        is_full = True
        logged(last_error, logging.WARNING, "something else")

    monkeypatch.setattr(report, "write_status", written)
    report._log.addHandler(last_error)
    try:
        asyncio.run(rounds_of(reporter, 10, make_room))
        assert [one.getMessage() for one in caplog.records] == [
            "status: cannot write the file (error=no room)"
        ]
        asyncio.run(rounds_of(reporter, 10, fill))
    finally:
        report._log.removeHandler(last_error)
    assert len(caplog.messages) == 2


def test_a_ready_board_is_named() -> None:
    identity = BoardIdentity("sim", "id", "0.1.0", 1, 1, "power-on", 1, "none")
    status = BoardStatus(BoardState.READY, "/dev/x", identity)
    said = report.BoardReport(status.state.value, status.port, identity.board, identity.firmware)
    assert report.board_sentence(said) == "sim on /dev/x, firmware 0.1.0"


def test_the_lines_that_give_outputs_power_are_on_record_for_after_its_end(
    tmp_path: Path, clock: SteppedClock, board: FakeBoard, last_error: LastError
) -> None:
    stop = EmergencyStop(tmp_path)
    subjects = Subjects("offline", [board], [], last_error, stop, enable_gpios=(17, 27))
    assert Reporter(tmp_path / "status.json", subjects, clock).status().enable_gpios == (17, 27)
