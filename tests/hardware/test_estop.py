import asyncio
from pathlib import Path

import pytest
from msgspec import structs

from agent.access.commands import ChatCommand
from agent.hardware.estop import (
    NOT_RECORDED_TEXT,
    NOT_THE_OWNER_TEXT,
    NOTHING_PENDING_TEXT,
    EstopControl,
)
from agent.messages import Provenance
from agent.security import estop
from agent.security.estop import LOOK_S, EmergencyStop
from agent.system.folder_watch import WATCHED_S
from tests.fakes.board import FakeBoard
from tests.fakes.channel import message
from tests.fakes.virtual_time import LoopClock, elapse, in_virtual_time
from tests.fakes.watches import no_watches_left

OWNER = message("/estop")
GUEST = structs.replace(OWNER, sender="guest", provenance=Provenance.USER)


def made(folder: Path) -> tuple[EstopControl, FakeBoard]:
    board = FakeBoard()
    return EstopControl(EmergencyStop(folder), [board, FakeBoard(name="arm")]), board


async def test_anybody_may_stop(tmp_path: Path) -> None:
    oversight, board = made(tmp_path)
    await oversight.engage(GUEST)
    assert board.is_stopped
    said = await oversight.obey(ChatCommand.ESTOP, GUEST)
    assert "by guest on fake" in said
    assert NOT_RECORDED_TEXT not in said


async def test_only_the_owner_clears(tmp_path: Path) -> None:
    oversight, board = made(tmp_path)
    await oversight.engage(OWNER)
    assert await oversight.obey(ChatCommand.ESTOP_CLEAR, GUEST) == NOT_THE_OWNER_TEXT
    assert oversight.stop.is_set
    said = await oversight.obey(ChatCommand.ESTOP_CLEAR, OWNER)
    assert said == "The emergency stop is cleared. board: released. arm: released."
    assert not board.is_stopped
    assert "has been cleared" in await oversight.obey(ChatCommand.ESTOP, OWNER)


async def test_what_a_board_has_locked_by_itself_is_released_too(tmp_path: Path) -> None:
    oversight, board = made(tmp_path)
    board.is_locked = True
    said = await oversight.obey(ChatCommand.ESTOP_CLEAR, OWNER)
    assert said == "The emergency stop was not set. board: released. arm: nothing was locked."


async def test_a_stop_that_cannot_be_recorded_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    oversight, board = made(tmp_path)
    monkeypatch.setattr(estop, "record", lambda _folder, _reason: False)
    await oversight.engage(OWNER)
    assert board.is_stopped
    assert NOT_RECORDED_TEXT in await oversight.obey(ChatCommand.ESTOP, OWNER)


async def test_only_the_owner_loosens(tmp_path: Path) -> None:
    oversight, board = made(tmp_path)
    board.pending = ("pump may be on for ever",)
    assert await oversight.obey(ChatCommand.CONFIGURE, GUEST) == NOT_THE_OWNER_TEXT
    assert board.pending
    said = await oversight.obey(ChatCommand.CONFIGURE, OWNER)
    assert said == "The new limits apply: board: pump may be on for ever."
    assert not board.pending
    assert await oversight.obey(ChatCommand.CONFIGURE, OWNER) == NOTHING_PENDING_TEXT


@pytest.mark.parametrize("kernel", ["tells", "has no watch left"])
def test_what_another_process_does_is_done_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: str
) -> None:
    if kernel != "tells":
        no_watches_left(monkeypatch)

    @in_virtual_time
    async def watched() -> None:
        oversight, board = made(tmp_path)
        watching = asyncio.create_task(oversight.watch(LoopClock()))
        estop.record(tmp_path, "by `barnacle estop`")
        await elapse(2 * LOOK_S)
        assert board.is_stopped
        estop.remove(tmp_path)
        await elapse(2 * LOOK_S)
        assert not board.is_stopped
        assert not board.is_locked
        watching.cancel()
        await asyncio.wait([watching])

    watched()
    assert 2 * LOOK_S <= 0.2


def test_nobody_looks_often_where_the_kernel_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    @in_virtual_time
    async def watched() -> None:
        oversight, _ = made(tmp_path)
        monkeypatch.setattr(oversight.stop, "look", lambda: looks.append(1))
        watching = asyncio.create_task(oversight.watch(LoopClock()))
        await elapse(100 * WATCHED_S)
        watching.cancel()
        await asyncio.wait([watching])

    watched()
    assert 90 < len(looks) <= 102
