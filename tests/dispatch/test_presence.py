import asyncio
import contextlib
from collections.abc import AsyncIterator

from agent.dispatch.presence import HELD_S, Button
from tests.fakes.events import TalkingBoard
from tests.fakes.virtual_time import LoopClock, in_virtual_time

# Far longer than any press
LONG_S = 1.0


@contextlib.asynccontextmanager
async def at_work() -> AsyncIterator[tuple[TalkingBoard, Button]]:
    board = TalkingBoard()
    button = Button([(board, "button")], LoopClock())
    running = asyncio.create_task(button.run())
    # So that nothing happens at the very beginning of time
    await asyncio.sleep(1)
    try:
        yield board, button
    finally:
        running.cancel()
        await asyncio.wait([running])


def now_s() -> float:
    return asyncio.get_running_loop().time()


async def press(board: TalkingBoard, held_s: float) -> None:
    board.tell("button", "on", now_s())
    await asyncio.sleep(held_s)
    board.tell("button", "off", now_s())
    await asyncio.sleep(2 * HELD_S)


def asked(button: Button) -> "asyncio.Task[None]":
    return asyncio.create_task(button.pressed())


@in_virtual_time
async def test_a_press_answers() -> None:
    async with at_work() as (board, button):
        question = asked(button)
        await asyncio.sleep(0.1)
        await press(board, 0.2)
        assert question.done()


@in_virtual_time
async def test_a_press_before_the_question_answers_nothing() -> None:
    async with at_work() as (board, button):
        before_s = now_s()
        await asyncio.sleep(0.1)
        question = asked(button)
        await asyncio.sleep(0)
        board.tell("button", "on", before_s)
        await asyncio.sleep(LONG_S)
        assert not question.done()
        question.cancel()


@in_virtual_time
async def test_a_glitch_answers_nothing() -> None:
    async with at_work() as (board, button):
        question = asked(button)
        await asyncio.sleep(0.1)
        await press(board, HELD_S / 2)
        await asyncio.sleep(LONG_S)
        assert not question.done()
        question.cancel()


@in_virtual_time
async def test_one_press_answers_one_question_the_oldest() -> None:
    async with at_work() as (board, button):
        first = asked(button)
        await asyncio.sleep(0.1)
        second = asked(button)
        await asyncio.sleep(0.1)
        await press(board, 0.2)
        assert (first.done(), second.done()) == (True, False)
        await press(board, 0.2)
        assert second.done()


@in_virtual_time
async def test_a_question_that_is_over_takes_no_press() -> None:
    async with at_work() as (board, button):
        over = asked(button)
        await asyncio.sleep(0.1)
        over.cancel()
        await asyncio.wait([over])
        question = asked(button)
        await asyncio.sleep(0.1)
        await press(board, 0.2)
        assert question.done()


@in_virtual_time
async def test_without_its_board_there_is_nobody_at_the_device() -> None:
    async with at_work() as (board, button):
        assert button.trouble == ""
        board.go_away()
        assert "not connected" in button.trouble


@in_virtual_time
async def test_a_press_on_any_board_answers_and_one_that_is_away_keeps_no_other() -> None:
    boards = TalkingBoard(), TalkingBoard()
    button = Button([(boards[0], "button"), (boards[1], "key")], LoopClock())
    running = asyncio.create_task(button.run())
    await asyncio.sleep(1)
    boards[0].go_away()
    assert button.trouble == ""
    question = asked(button)
    await asyncio.sleep(0.1)
    boards[1].tell("key", "on", now_s())
    await asyncio.sleep(0.2)
    assert question.done()
    boards[1].go_away()
    assert "not connected" in button.trouble
    running.cancel()
    await asyncio.wait([running])


def test_without_any_place_there_is_no_button() -> None:
    assert "approve_button" in Button([], LoopClock()).trouble


@in_virtual_time
async def test_a_press_whose_two_ends_come_at_once_counts_by_the_boards_times() -> None:
    for held_s, counts in ((HELD_S, True), (HELD_S / 2, False)):
        async with at_work() as (board, button):
            question = asked(button)
            await asyncio.sleep(0.1)
            # The loop was busy meanwhile
            began_s = now_s()
            board.tell("button", "on", began_s)
            board.tell("button", "off", began_s + held_s)
            await asyncio.sleep(HELD_S / 4)
            assert question.done() is counts
            question.cancel()
