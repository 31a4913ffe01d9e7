import asyncio
import struct
from pathlib import Path

import pytest

from agent.errors import CallRefused
from agent.link import frame as wire
from agent.link import output_lock
from agent.link.base import BoardState
from agent.link.board import SerialBoard
from agent.link.frame import Decoder
from agent.link.session import ESTOP_REPEATS, Session
from agent.link.settings import BoardSettings
from tests.fakes.linked_board import linked, ready
from tests.fakes.peer import ScriptedBoard
from tests.fakes.virtual_time import LoopClock, elapse, in_virtual_time

LED_ON = {"pin": "led", "value": "on"}


def stops(board: ScriptedBoard) -> int:
    return [frame.kind for frame in board.frames].count(wire.ESTOP)


@in_virtual_time
async def test_a_stop_is_sent_at_once_several_times_and_not_waited_for(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        await link.board.call("gpio_write", LED_ON)
        link.board.stop()
        await elapse(0.01)
        assert stops(board) == ESTOP_REPEATS
        assert board.outputs[0] == 0
        assert "locked after an emergency stop" in link.board.status.trouble
        board.requests.clear()
        await elapse(5)
        assert wire.METHOD_LEASE_RENEW not in [method for method, _ in board.requests]


@in_virtual_time
async def test_while_stopped_nothing_is_moved_and_looking_works(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        link.board.stop()
        board.requests.clear()
        with pytest.raises(CallRefused, match="emergency stop is set"):
            await link.board.call("gpio_write", LED_ON)
        assert board.requests == []
        assert await link.board.call("gpio_read", {"pin": "led"}) == {"value": "off"}


@in_virtual_time
async def test_a_board_that_comes_back_is_stopped_before_anything_else(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        link.ports.unplug()
        await link.until(BoardState.ABSENT)
        link.board.stop()
        assert stops(board) == 0
        board.frames.clear()
        link.ports.plug_in()
        await link.until(BoardState.READY, "locked after an emergency stop")
        await elapse(0.5)
        heard = [frame.kind for frame in board.frames]
        assert heard[: 2 + ESTOP_REPEATS] == [wire.ESTOP, wire.HELLO, *[wire.ESTOP] * ESTOP_REPEATS]


@in_virtual_time
async def test_a_board_that_was_reset_is_stopped_before_it_is_greeted(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        link.board.stop()
        # Power gone and back: it has forgotten the stop and the session
        board.reason = wire.REASON_NONE
        board.frames.clear()
        board.reset()
        await link.until(BoardState.CONNECTING)
        await link.until(BoardState.READY, "locked after an emergency stop")
        greeted = [frame.kind for frame in board.frames].index(wire.HELLO)
        assert wire.ESTOP in [frame.kind for frame in board.frames][:greeted]
        assert board.reason == wire.REASON_ESTOP


@in_virtual_time
async def test_a_stop_while_the_board_is_greeted_does_not_wait_for_the_answer(
    tmp_path: Path,
) -> None:
    board = ScriptedBoard(is_silent=True)
    async with linked(board, tmp_path) as link:
        await elapse(0.1)
        link.board.stop()
        await elapse(0.01)
        assert stops(board) == 1
        board.is_silent = False
        await link.until(BoardState.READY, "locked after an emergency stop")
        assert board.reason == wire.REASON_ESTOP


@in_virtual_time
async def test_a_stop_that_was_taken_back_before_the_greeting_is_not_sent(tmp_path: Path) -> None:
    board = ScriptedBoard(is_silent=True)
    async with linked(board, tmp_path) as link:
        await elapse(0.1)
        link.board.stop()
        link.board.allow()
        await elapse(0.01)
        board.frames.clear()
        board.is_silent = False
        await link.until(BoardState.READY)
        assert stops(board) == 0


@in_virtual_time
async def test_a_stop_that_a_noisy_line_has_swallowed_is_sent_again(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        link.ports.unplug()
        await link.until(BoardState.ABSENT)
        link.board.stop()
        board.stops_unheard = 1 + ESTOP_REPEATS
        link.ports.plug_in()
        await link.until(BoardState.READY)
        await elapse(0.5)
        assert board.reason == wire.REASON_ESTOP


@in_virtual_time
async def test_a_stop_that_is_swallowed_in_a_session_is_sent_until_the_board_is_locked(
    tmp_path: Path,
) -> None:
    async with ready(tmp_path) as (link, board):
        await elapse(0.5)
        board.stops_unheard = 3 * ESTOP_REPEATS
        link.board.stop()
        await elapse(2.0)
        assert board.reason == wire.REASON_ESTOP
        # And no more than that
        heard = stops(board)
        await elapse(5.0)
        assert stops(board) == heard == 4 * ESTOP_REPEATS


@in_virtual_time
async def test_a_stop_into_a_board_that_does_not_listen_arrives_when_it_does(
    tmp_path: Path,
) -> None:
    async with ready(tmp_path) as (link, board):
        await elapse(0.5)
        # It writes its flash, longer than a request waits
        board.emit(wire.BUSY, struct.pack(wire.BUSY_FORMAT, 2_500))
        await elapse(0.01)
        board.is_silent = True
        link.board.stop()
        await elapse(2.48)
        board.is_silent = False
        await elapse(0.5)
        assert board.reason == wire.REASON_ESTOP


@in_virtual_time
async def test_unlocking_lets_it_move_again(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, _board):
        link.board.stop()
        link.board.allow()
        assert await link.board.unlock() == "board: released after an emergency stop."
        assert link.board.status.trouble == ""
        await link.board.call("gpio_write", LED_ON)
        assert await link.board.unlock() == "board: nothing was locked."


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (wire.REASON_WATCHDOG, "a reset by its watchdog"),
        (wire.REASON_FAULT, "a fault in its firmware"),
        (77, "only newer firmware knows"),
    ],
)
def test_what_a_board_has_locked_by_itself_is_told_and_released(
    tmp_path: Path, reason: int, words: str
) -> None:
    @in_virtual_time
    async def locked() -> None:
        async with linked(ScriptedBoard(reason=reason), tmp_path) as link:
            await link.until(BoardState.READY, words)
            assert "/estop clear" in link.board.status.trouble
            assert words in await link.board.unlock()
            assert link.board.status.trouble == ""

    locked()


@in_virtual_time
async def test_a_board_that_is_away_stays_locked(tmp_path: Path) -> None:
    board = SerialBoard(BoardSettings(), tmp_path, LoopClock())
    board.stop()
    assert "not connected" in await board.unlock()


@in_virtual_time
async def test_a_board_that_locks_itself_again_is_told(tmp_path: Path) -> None:
    peer = ScriptedBoard(reason=wire.REASON_FAULT)
    peer.overrides[wire.METHOD_CLEAR] = (0, bytes([wire.STATE_SAFE]))
    async with ready(tmp_path, peer=peer) as (link, _board):
        assert "still locked: unsafe_state: it was locked again" in await link.board.unlock()


@in_virtual_time
async def test_firmware_that_knows_no_locks_is_left_in_peace(tmp_path: Path) -> None:
    peer = ScriptedBoard()
    peer.overrides[wire.METHOD_STATUS] = (0, bytes(17))
    async with ready(tmp_path, peer=peer) as (link, _board):
        assert await link.board.unlock() == "board: nothing was locked."
    peer.overrides[wire.METHOD_STATUS] = (wire.NOT_SUPPORTED, b"")
    async with ready(tmp_path, peer=peer) as (link, _board):
        await elapse(1)
        assert link.board.status.trouble == ""
        assert "not_supported" in await link.board.unlock()


def test_every_reason_has_its_words() -> None:
    reasons = (wire.REASON_ESTOP, wire.REASON_WATCHDOG, wire.REASON_FAULT)
    assert len({output_lock.lock_words(reason) for reason in reasons}) == len(reasons)


def test_before_the_greeting_a_stop_has_the_seed_of_no_session() -> None:
    session = Session(7, "/dev/x", 0.0)
    session.stop()
    (heard,) = Decoder(0).feed(session.take_output())
    assert heard.kind == wire.ESTOP


def test_after_the_end_there_is_nobody_to_stop() -> None:
    session = Session(7, "/dev/x", 0.0)
    session.end("over")
    session.stop()
    assert session.take_output() == b""


@in_virtual_time
async def test_what_is_learned_of_a_board_that_is_gone_stays_unsaid(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        board.answer_delay_s = 0.1
        unlocking = asyncio.create_task(link.board.unlock())
        await elapse(0.05)
        link.ports.unplug()
        assert "still locked" in await unlocking
        await link.until(BoardState.ABSENT)
        trouble = link.board.status.trouble
        link.board._note(lock="late news")
        assert link.board.status.trouble == trouble


@in_virtual_time
async def test_a_stop_that_is_taken_back_while_the_board_is_away_does_not_reach_it(
    tmp_path: Path,
) -> None:
    async with ready(tmp_path) as (link, board):
        link.ports.unplug()
        await link.until(BoardState.ABSENT)
        link.board.stop()
        link.board.allow()
        link.ports.plug_in()
        await link.until(BoardState.READY)
        assert stops(board) == 0
        assert await link.board.call("gpio_write", LED_ON) == {"value": "on"}
