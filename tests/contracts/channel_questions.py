"""What every platform's channel does with a question and its answer."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from unittest.mock import patch

import pytest

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Answer, Question, YesBy
from tests.contracts.listener import Listener, content, listening
from tests.contracts.platform import Platform
from tests.waits import wait_until


async def a_question_is_answered_by_whom_it_was_for(platform: Platform) -> None:
    async with _asked(platform) as (listener, asking, question):
        await platform.answer_question(question, Answer.YES)
        assert await asking is Answer.YES
        assert [one.text for one in listener.heard] == ["lamp on"]


async def a_question_waits_where_the_platform_wants_a_moment(platform: Platform) -> None:
    if reason := platform.cannot.get("a_wish_to_be_left_alone_is_handed_on"):
        pytest.skip(reason)
    async with _asked(platform, busy_s=1) as (_listener, asking, question):
        await platform.answer_question(question, Answer.YES)
        assert await asking is Answer.YES


async def a_plain_word_answers_the_only_question(platform: Platform) -> None:
    async with _asked(platform) as (listener, asking, question):
        if platform.channel.name == "email":
            assert "alone counts" not in platform.shown(listener.heard[0])[0]
            asking.cancel()
            pytest.skip(f"a letter answers by the code: yes {question.question_id}")
        await platform.write("yes")
        assert await asking is Answer.YES
        assert [one.text for one in listener.heard] == ["lamp on"]


async def a_word_beneath_a_file_answers_no_question(platform: Platform) -> None:
    """Whoever sends a picture with "ok" beneath it speaks of the picture."""
    if not platform.channel.abilities.takes_files:
        pytest.skip(f"{platform.channel.name} takes no files")
    async with _asked(platform) as (listener, asking, _):
        await platform.write_with_file("ok", b"%PDF-1.7 of a datasheet")
        [_, with_file] = await listener.first(2)
        assert [content(file) for file in with_file.attachments] == [b"%PDF-1.7 of a datasheet"]
        assert not asking.done()
        asking.cancel()


@contextlib.asynccontextmanager
async def _asked(
    platform: Platform, busy_s: float = 0
) -> AsyncIterator[tuple[Listener, asyncio.Future, Question]]:
    """A question that is shown to who wrote "lamp on".

    Args:
        busy_s: how long the platform asks to be left alone first.
    """
    told = {"yes_by": YesBy.WORD, "takes_word": lambda _: True}
    question = Question("board_gpio_write", '{"pin":"led"}', "it moves something", **told)
    async with listening(platform.channel) as listener:
        await platform.write("lamp on")
        [heard] = await listener.first()
        if busy_s:
            platform.break_next_send(retry_after_s=busy_s)
        with patch.object(
            OpenApprovals, "shown", autospec=True, side_effect=OpenApprovals.shown
        ) as noted:
            asking = asyncio.ensure_future(platform.channel.ask(heard.address, question))

            def is_put() -> bool:
                # Who answers before its last part has come answers what they have not read
                whole = question.arguments_json in "".join(platform.shown(heard)) and noted.called
                return asking.done() or whole

            await wait_until(is_put)
        yield listener, asking, question


CHECKS = (
    a_question_is_answered_by_whom_it_was_for,
    a_question_waits_where_the_platform_wants_a_moment,
    a_plain_word_answers_the_only_question,
    a_word_beneath_a_file_answers_no_question,
)
