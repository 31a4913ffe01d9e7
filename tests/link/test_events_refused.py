"""What a board says that is no event of ours, and what it refuses."""

import contextlib
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.link import frame as wire
from agent.link.events import RETRY_S, BoardSubscription, Watch
from tests.fakes.linked_board import LinkedBoard, ready
from tests.fakes.peer import ScriptedBoard
from tests.fakes.virtual_time import elapse, in_virtual_time

OK: tuple[int, bytes] = (wire.OK, b"")


@contextlib.asynccontextmanager
async def watching(
    folder: Path, answer: tuple[int, bytes]
) -> AsyncIterator[tuple[LinkedBoard, ScriptedBoard, BoardSubscription]]:
    peer = ScriptedBoard(overrides={wire.METHOD_SUBSCRIBE: answer})
    async with ready(folder, peer=peer) as (link, board):
        subscription = link.board.subscribe(Watch("button"))
        await elapse(0.1)
        yield link, board, subscription


def event(number: int = 0, value: int = 1) -> bytes:
    return struct.pack(wire.EVENT_FORMAT, number, 1, 0, 0, value)


@in_virtual_time
async def test_a_subscription_that_the_board_refuses_has_its_reason_and_gets_nothing(
    tmp_path: Path,
) -> None:
    async with watching(tmp_path, (wire.BUSY_CODE, b"no room")) as (link, board, subscription):
        assert "no room" in subscription.trouble
        board.emit_sequenced(wire.EVENT, event())
        await elapse(0.1)
        assert link.board.counters.frames_ignored == 1


@in_virtual_time
async def test_an_event_is_taken_one_by_one(tmp_path: Path) -> None:
    async with watching(tmp_path, OK) as (_link, board, subscription):
        assert subscription.trouble == ""
        board.emit_sequenced(wire.EVENT, event())
        async for one in subscription:
            assert one.value == "on"
            break


@pytest.mark.parametrize("payload", [b"", event()[:-1], event(number=9), event(value=77)], ids=str)
def test_an_event_that_makes_no_sense_is_counted_and_dropped(
    tmp_path: Path, payload: bytes
) -> None:
    @in_virtual_time
    async def listen() -> None:
        async with watching(tmp_path, OK) as (link, board, subscription):
            board.emit_sequenced(wire.EVENT, payload)
            await elapse(0.1)
            assert link.board.counters.frames_ignored == 1
            assert not subscription.trouble

    listen()


@in_virtual_time
async def test_what_a_sensor_refused_before_its_first_value_is_asked_for_again(
    tmp_path: Path,
) -> None:
    busy = (wire.BUSY_CODE, b"the first measurement is under way")
    async with watching(tmp_path, busy) as (_link, board, subscription):
        assert "under way" in subscription.trouble
        board.overrides[wire.METHOD_SUBSCRIBE] = OK
        await elapse(RETRY_S + 1)
        assert subscription.trouble == ""
        board.emit_sequenced(wire.EVENT, event())
        assert (await anext(subscription)).value == "on"


@in_virtual_time
async def test_a_refusal_that_lasts_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with watching(tmp_path, (wire.IO, b"nothing answers")) as (_link, board, subscription):
        await elapse(5 * RETRY_S)
        assert caplog.text.count("subscription failed") == 1
        asked = [method for method, _ in board.requests].count(wire.METHOD_SUBSCRIBE)
        assert (3 < asked <= 7, "nothing answers" in subscription.trouble) == (True, True)
