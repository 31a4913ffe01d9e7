import asyncio
import dataclasses
from pathlib import Path

import pytest

from agent.dispatch import emergency as module
from agent.dispatch.emergency import LOOK_S, NOT_RECORDED_TEXT, NOT_THE_OWNER_TEXT, Emergency
from agent.messages import Provenance
from agent.security import estop
from agent.security.estop import EmergencyStop
from tests.fakes.board import FakeBoard
from tests.fakes.channel import message
from tests.fakes.virtual_time import LoopClock, in_virtual_time

OWNER = message("/estop")
GUEST = dataclasses.replace(OWNER, sender="guest", provenance=Provenance.USER)


def made(folder: Path) -> tuple[Emergency, FakeBoard]:
    board = FakeBoard()
    stop = EmergencyStop(folder)
    stop.listen(board.stop, board.allow)
    return Emergency(stop, [board.unlock]), board


async def test_anybody_may_stop(tmp_path: Path) -> None:
    emergency, board = made(tmp_path)
    await emergency.engage(GUEST)
    assert board.is_stopped
    assert "by guest on " in emergency.sentence
    assert NOT_RECORDED_TEXT not in emergency.sentence


async def test_only_the_owner_clears(tmp_path: Path) -> None:
    emergency, _board = made(tmp_path)
    await emergency.engage(OWNER)
    assert await emergency.clear(GUEST) == NOT_THE_OWNER_TEXT
    assert emergency.stop.is_set
    assert "is cleared" in await emergency.clear(OWNER)
    assert not emergency.stop.is_set
    assert "cleared again" in emergency.sentence


async def test_what_a_board_has_locked_by_itself_is_released_too(tmp_path: Path) -> None:
    emergency, board = made(tmp_path)
    board.is_locked = True
    assert await emergency.clear(OWNER) == "The emergency stop was not set. board: released."


async def test_a_stop_that_cannot_be_recorded_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    emergency, board = made(tmp_path)
    monkeypatch.setattr(estop, "record", lambda _folder, _reason: False)
    await emergency.engage(OWNER)
    assert board.is_stopped
    assert NOT_RECORDED_TEXT in emergency.sentence


def test_what_another_process_does_is_done_in_time(tmp_path: Path) -> None:
    @in_virtual_time
    async def watched() -> None:
        emergency, board = made(tmp_path)
        watching = asyncio.create_task(emergency.watch(LoopClock()))
        estop.record(tmp_path, "by `barnacle estop`")
        await asyncio.sleep(2 * LOOK_S)
        assert board.is_stopped
        estop.remove(tmp_path)
        await asyncio.sleep(2 * LOOK_S)
        assert not board.is_stopped
        watching.cancel()

    watched()
    assert 2 * module.LOOK_S <= 0.2
