import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from agent.approvals import button as presence
from agent.approvals.button import HELD_S, LONG_S, Button, NoButton, open_button
from agent.link.settings import BoardSettings
from tests.fakes.clock import SteppedClock
from tests.fakes.events import TalkingBoard
from tests.fakes.virtual_time import LoopClock, elapse, in_virtual_time

# Far longer than a press that says yes
A_WHILE_S = 1.0


@contextlib.asynccontextmanager
async def at_work() -> AsyncIterator[tuple[TalkingBoard, Button]]:
    board = TalkingBoard()
    button = Button([(board, "button")], LoopClock())
    running = asyncio.create_task(button.run())
    # So that nothing happens at the very beginning of time
    await elapse(1)
    try:
        yield board, button
    finally:
        running.cancel()
        await asyncio.wait([running])


def now_s() -> float:
    return asyncio.get_running_loop().time()


async def press(board: TalkingBoard, held_s: float) -> None:
    board.tell("button", "on", now_s())
    await elapse(held_s)
    board.tell("button", "off", now_s())
    await elapse(2 * HELD_S)


def asked(button: Button) -> "asyncio.Task[None]":
    return asyncio.create_task(button.pressed())


@in_virtual_time
async def test_a_press_answers() -> None:
    async with at_work() as (board, button):
        question = asked(button)
        await elapse(0.1)
        await press(board, 0.2)
        assert question.done()


@in_virtual_time
async def test_a_press_before_the_question_answers_nothing() -> None:
    async with at_work() as (board, button):
        before_s = now_s()
        await elapse(0.1)
        question = asked(button)
        await asyncio.sleep(0)
        board.tell("button", "on", before_s)
        await elapse(A_WHILE_S)
        assert not question.done()
        question.cancel()


@in_virtual_time
async def test_a_glitch_answers_nothing() -> None:
    async with at_work() as (board, button):
        question = asked(button)
        await elapse(0.1)
        await press(board, HELD_S / 2)
        await elapse(A_WHILE_S)
        assert not question.done()
        question.cancel()


@in_virtual_time
async def test_one_press_answers_one_question_the_oldest() -> None:
    async with at_work() as (board, button):
        first = asked(button)
        await elapse(0.1)
        second = asked(button)
        await elapse(0.1)
        await press(board, 0.2)
        assert (first.done(), second.done()) == (True, False)
        await press(board, 0.2)
        assert second.done()


@in_virtual_time
async def test_a_question_that_is_over_takes_no_press() -> None:
    async with at_work() as (board, button):
        over = asked(button)
        await elapse(0.1)
        over.cancel()
        await asyncio.wait([over])
        question = asked(button)
        await elapse(0.1)
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
    await elapse(1)
    boards[0].go_away()
    assert button.trouble == ""
    question = asked(button)
    await elapse(0.1)
    boards[1].tell("key", "on", now_s())
    await elapse(0.2)
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
            await elapse(0.1)
            # The loop was busy meanwhile
            began_s = now_s()
            board.tell("button", "on", began_s)
            board.tell("button", "off", began_s + held_s)
            await elapse(HELD_S / 4)
            assert question.done() is counts
            question.cancel()


@in_virtual_time
async def test_a_press_at_the_moment_of_the_question_answers_it() -> None:
    async with at_work() as (board, button):
        question = asked(button)
        await asyncio.sleep(0)
        board.tell("button", "on", now_s())
        await elapse(0.2)
        assert question.done()


@in_virtual_time
async def test_a_press_as_long_as_it_has_to_be_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    # A time that a float has exactly, as have its sums
    monkeypatch.setattr(presence, "HELD_S", 0.0625)
    async with at_work() as (board, button):
        question = asked(button)
        await asyncio.sleep(0)
        board.tell("button", "on", 2.0)
        board.tell("button", "off", 2.0625)
        await elapse(0.01)
        assert question.done()


@in_virtual_time
async def test_two_presses_that_come_at_once_answer_two_questions() -> None:
    async with at_work() as (board, button):
        questions = asked(button), asked(button)
        await elapse(0.1)
        for begin_s in (now_s(), now_s() + 1):
            board.tell("button", "on", begin_s)
            board.tell("button", "off", begin_s + 0.2)
        await elapse(0.01)
        assert [one.done() for one in questions] == [True, True]


@in_virtual_time
async def test_a_press_at_the_end_of_a_question_is_for_the_next_one() -> None:
    async with at_work() as (board, button):
        over, question = asked(button), asked(button)
        await elapse(0.1)
        board.tell("button", "on", now_s())
        board.tell("button", "off", now_s() + 0.2)
        over.cancel()
        await asyncio.wait([over])
        await elapse(0.01)
        assert (over.cancelled(), question.done()) == (True, True)


@in_virtual_time
async def test_nobody_waits_once_a_question_is_over() -> None:
    async with at_work() as (board, button):
        answered, given_up = asked(button), asked(button)
        await elapse(0.1)
        await press(board, 0.2)
        given_up.cancel()
        await asyncio.wait([answered, given_up])
        assert list(button._asked) == []


@in_virtual_time
async def test_the_board_is_told_how_long_contacts_bounce() -> None:
    async with at_work() as (board, _):
        assert [one.watch.least_interval_ms for one in board.subscriptions] == [20]


@in_virtual_time
async def test_where_there_is_nothing_to_press_nobody_presses() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(LONG_S):
            await NoButton().pressed()


@in_virtual_time
async def test_a_long_press_is_a_sign_of_its_own_when_it_ends() -> None:
    async with at_work() as (board, button):
        sign = asyncio.create_task(button.held())
        await elapse(0.1)
        await press(board, LONG_S - 0.1)
        assert not sign.done()
        board.tell("button", "on", now_s())
        await elapse(LONG_S + 1)
        # As long as it is down nobody knows how long it was: the link may be silent
        assert not sign.done()
        board.tell("button", "off", now_s())
        await elapse(0.1)
        assert sign.done()


@in_virtual_time
async def test_a_long_press_that_said_yes_is_no_sign() -> None:
    async with at_work() as (board, button):
        sign, question = asyncio.create_task(button.held()), asked(button)
        await elapse(0.1)
        await press(board, LONG_S + 1)
        assert (question.done(), sign.done()) == (True, False)
        await press(board, LONG_S + 1)
        assert sign.done()


@in_virtual_time
async def test_a_long_press_from_before_is_no_sign() -> None:
    async with at_work() as (board, button):
        board.tell("button", "on", now_s())
        await elapse(0.1)
        sign = asyncio.create_task(button.held())
        await elapse(LONG_S)
        board.tell("button", "off", now_s())
        await elapse(0.1)
        assert not sign.done()
        sign.cancel()


def test_only_boards_whose_settings_name_a_button_have_one() -> None:
    board, clock = TalkingBoard(), SteppedClock()
    assert isinstance(open_button([board], [BoardSettings()], clock), NoButton)
    named = BoardSettings(approve_button="button")
    assert isinstance(open_button([board], [named], clock), Button)
