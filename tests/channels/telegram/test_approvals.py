import asyncio
from pathlib import Path

import pytest

from agent.channels.base import Answer, Question
from agent.channels.telegram.approvals import MOST_WAITED_S, keyboard, pieces
from agent.errors import ChannelUnavailable
from agent.messages import Address
from tests.fakes.clock import SteppedClock
from tests.fakes.telegram_bot import Bot, listening
from tests.fakes.telegram_server import Fault
from tests.fakes.telegram_world import ANNA, BEN, FORUM, GROUP, Json
from tests.waits import wait_until

QUESTION = Question(
    "board_gpio_write", '{"pin":"pump","value":"on"}', "it moves something", always="x"
)

OUTCOMES = {"Yes": "Approved.", "No": "Refused.", "Always": "Approved from now on."}


def address(chat: int = ANNA, person: int = ANNA) -> Address:
    return Address("telegram", str(chat), str(person))


async def asked(
    bot: Bot, where: Address, question: Question = QUESTION
) -> "tuple[asyncio.Task[Answer], Json]":
    before = len(bot.server.world.sent)
    task = asyncio.create_task(bot.channel.ask(where, question))
    await wait_until(lambda: len(bot.server.world.sent) > before)
    return task, bot.server.world.sent[-1]


@pytest.mark.parametrize(
    ("label", "answer"), [("Yes", Answer.YES), ("No", Answer.NO), ("Always", Answer.ALWAYS)]
)
async def test_a_button_answers_and_the_message_tells_what_became_of_it(
    label: str, answer: Answer, tmp_path: Path
) -> None:
    async with listening(tmp_path) as bot:
        task, shown = await asked(bot, address())
        assert '{"pin":"pump","value":"on"}' in shown["text"]
        await bot.server.world.press(shown, label)
        assert await task is answer
        await wait_until(lambda: bot.server.world.edits)
        assert OUTCOMES[label] in bot.server.world.shown()[0]
        assert "reply_markup" not in shown
        await wait_until(lambda: bot.server.world.answered_callbacks)
        assert "text" not in bot.server.world.answered_callbacks[0]


async def test_only_who_was_asked_can_press(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        task, shown = await asked(bot, address(GROUP))
        await bot.server.world.press(shown, "Yes", sender=BEN)
        await wait_until(lambda: bot.server.world.answered_callbacks)
        assert "not yours to answer" in bot.server.world.answered_callbacks[0]["text"]
        assert not task.done()
        await bot.server.world.press(shown, "No")
        assert await task is Answer.NO


async def test_a_question_follows_a_group_that_has_moved(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        bot.server.world.moved[GROUP] = -1_000_000_777
        for label, answer in [("Yes", Answer.YES), ("No", Answer.NO)]:
            task, shown = await asked(bot, address(GROUP))
            assert shown["chat"]["id"] == -1_000_000_777
            await bot.server.world.press(shown, label)
            assert await task is answer


async def test_a_question_for_a_closed_topic_is_asked_beside_it(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        bot.server.world.closed_topics.add(12)
        task, shown = await asked(bot, Address("telegram", str(FORUM), str(ANNA), "12"))
        await bot.server.world.press(shown, "Yes")
        assert await task is Answer.YES


async def test_a_button_of_an_old_question_does_nothing(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        first, old = await asked(bot, address())
        stale = dict(old)
        await bot.server.world.press(old, "No")
        await first
        second, _ = await asked(bot, address(), Question("board_gpio_write", "{}", "it moves"))
        await bot.server.world.press(stale, "Yes")
        await wait_until(lambda: len(bot.server.world.answered_callbacks) == 2)
        assert not second.done()
        second.cancel()
        await asyncio.wait([second])


async def test_a_question_may_be_answered_in_words(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        task, _ = await asked(bot, address())
        await bot.server.world.write(f"yes {QUESTION.question_id}")
        assert await task is Answer.YES
        await bot.server.world.write("next")
        assert [one.text for one in await bot.hear()] == ["next"]


async def test_a_question_that_nobody_answers_loses_its_buttons(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        task, shown = await asked(bot, address())
        task.cancel()
        await asyncio.wait([task])
        await wait_until(lambda: bot.server.world.edits)
        assert "No answer in time" in shown["text"]
        assert "reply_markup" not in shown


async def test_a_question_that_cannot_be_put_is_an_error(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        bot.server.faults.append(Fault("sendMessage", html=502))
        with pytest.raises(ChannelUnavailable):
            await bot.channel.ask(address(), QUESTION)


@pytest.mark.parametrize("method", ["sendMessage", "sendMessageDraft"])
async def test_a_question_waits_for_a_chat_that_was_asked_too_often(
    tmp_path: Path, method: str
) -> None:
    """The draft of the answer may have been shown too often just before."""
    clock = SteppedClock()
    async with listening(tmp_path, clock=clock) as bot:
        if method == "sendMessageDraft":
            await bot.server.world.write("pump on")
            [heard] = await bot.hear()
            bot.server.faults.append(Fault(method, retry_after_s=7))
            await bot.channel.draft(heard, "I look")
            await wait_until(lambda: bot.server.called(method))
        else:
            bot.server.faults.append(Fault(method, retry_after_s=7))
        task, shown = await asked(bot, address())
        await bot.server.world.press(shown, "Yes")
        assert await task is Answer.YES
    assert sum(clock.slept_s) >= 7


async def test_a_question_waits_no_longer_than_somebody_would_be_asked(tmp_path: Path) -> None:
    async with listening(tmp_path, clock=SteppedClock()) as bot:
        bot.server.faults.append(Fault("sendMessage", retry_after_s=int(MOST_WAITED_S) + 1))
        with pytest.raises(ChannelUnavailable):
            await bot.channel.ask(address(), QUESTION)


async def test_a_call_that_cannot_be_shown_whole_is_not_asked_about(tmp_path: Path) -> None:
    async with listening(tmp_path) as bot:
        huge = Question("shell", '{"x":"' + "a" * 20_000 + '"}', "it runs a program")
        assert await bot.channel.ask(address(), huge) is Answer.NONE
        assert not bot.server.world.sent


def test_every_byte_of_a_call_is_shown() -> None:
    arguments = '{"x":"' + "y\u202e" * 1500 + '"}'
    told = "".join(pieces(Question("shell", arguments, "it runs a program")))
    assert told.count("y<U+202E>") == 1500


def test_a_button_carries_no_more_than_a_platform_takes() -> None:
    [row] = keyboard(QUESTION)["inline_keyboard"]  # type: ignore[misc]  # one row, as it is made
    assert all(len(one["callback_data"].encode()) <= 64 for one in row)
    assert len(keyboard(Question("x", "{}", "y"))["inline_keyboard"][0]) == 2  # type: ignore[index]  # as above
