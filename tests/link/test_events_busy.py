"""Credit and subscriptions while the board has no time for them: told late, and not lost."""

import asyncio
import struct
from pathlib import Path

import pytest

from agent.errors import LinkError
from agent.link import frame as wire
from agent.link.connection import MAX_PENDING_CALLS
from agent.link.events import CREDITS_AT_ONCE, BoardSubscription, Watch
from tests.fakes.linked_board import LinkedBoard, ready
from tests.fakes.peer import ScriptedBoard
from tests.fakes.virtual_time import elapse, in_virtual_time

OK: tuple[int, bytes] = (wire.OK, b"")
BUSY_MS = 5_000


def patient() -> ScriptedBoard:
    return ScriptedBoard(overrides={wire.METHOD_SUBSCRIBE: OK, wire.METHOD_CREDIT: OK})


def told(board: ScriptedBoard, method: int) -> list[bytes]:
    return [arguments for asked, arguments in board.requests if asked == method]


async def four_events(link: LinkedBoard, board: ScriptedBoard) -> BoardSubscription:
    """A subscription with as many waiting as are given back together."""
    subscription = link.board.subscribe(Watch("button"))
    await elapse(0.1)
    for number in range(CREDITS_AT_ONCE):
        payload = struct.pack(wire.EVENT_FORMAT, 0, number + 1, 0, 0, number % 2)
        board.emit_sequenced(wire.EVENT, payload)
    await elapse(0.1)
    return subscription


async def fall_busy(board: ScriptedBoard) -> None:
    board.emit(wire.BUSY, struct.pack(wire.BUSY_FORMAT, BUSY_MS))
    await elapse(0.05)


async def take(subscription: BoardSubscription) -> None:
    for _ in range(CREDITS_AT_ONCE):
        await anext(subscription)


CREDIT = struct.pack(wire.CREDIT_FORMAT, 0, CREDITS_AT_ONCE)


@in_virtual_time
async def test_credit_outlasts_a_busy_board(tmp_path: Path) -> None:
    async with ready(tmp_path, peer=patient()) as (link, board):
        subscription = await four_events(link, board)
        await fall_busy(board)
        await take(subscription)
        await elapse(BUSY_MS / 1000 + 1)
        assert told(board, wire.METHOD_CREDIT) == [CREDIT]


@in_virtual_time
async def test_credit_is_given_once_where_only_its_answer_is_late(tmp_path: Path) -> None:
    async with ready(tmp_path, peer=patient()) as (link, board):
        subscription = await four_events(link, board)
        board.answer_delay_s = 3.0
        await take(subscription)
        await elapse(10.0)
        assert told(board, wire.METHOD_CREDIT) == [CREDIT]


@pytest.mark.parametrize("method", [wire.METHOD_CREDIT, wire.METHOD_SUBSCRIBE])
def test_other_calls_that_pile_up_keep_nothing_from_the_board(tmp_path: Path, method: int) -> None:
    @in_virtual_time
    async def crowded() -> None:
        async with ready(tmp_path, peer=patient()) as (link, board):
            subscription = await four_events(link, board)
            before = len(told(board, method))
            board.answer_delay_s = 0.5
            calls = [
                asyncio.create_task(link.board.call("gpio_read", {"pin": "button"}))
                for _ in range(MAX_PENDING_CALLS)
            ]
            await elapse(0.01)
            another = link.board.subscribe(Watch("button"))
            await take(subscription)
            await elapse(5.0)
            assert len(told(board, method)) == before + 1
            assert another.trouble == ""
            assert not any(
                isinstance(one, LinkError)
                for one in await asyncio.gather(*calls, return_exceptions=True)
            )

    crowded()


@in_virtual_time
async def test_a_subscription_outlasts_a_busy_board(tmp_path: Path) -> None:
    async with ready(tmp_path, peer=patient()) as (link, board):
        await elapse(0.1)
        await fall_busy(board)
        subscription = link.board.subscribe(Watch("button"))
        await elapse(BUSY_MS / 1000 + 1)
        assert len(told(board, wire.METHOD_SUBSCRIBE)) == 1
        assert subscription.trouble == ""


@in_virtual_time
async def test_a_session_that_ends_meanwhile_ends_the_waiting(tmp_path: Path) -> None:
    async with ready(tmp_path, peer=patient()) as (link, board):
        board.ignores_requests = True
        subscription = link.board.subscribe(Watch("button"))
        await elapse(0.1)
        assert link.board._live is not None
        link.board._live.connection.drop("pulled out")
        await elapse(0.01)
        assert subscription.trouble == "the board is not connected"
        board.ignores_requests = False
        await elapse(5.0)
        assert subscription.trouble == ""
