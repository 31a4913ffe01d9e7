"""Approval by a text message, for platforms without buttons."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TypeVar

from msgspec import Struct

from agent.channels.base import Answer, Question, YesBy
from agent.errors import ChannelUnavailable
from agent.messages import Address, Inbound, Outbound
from agent.text.plain_words import plain_answer
from agent.text.printable import spelled_out, spelled_text

# What "always" would stand for, in one line
MAX_ALWAYS_CHARS = 400
# A tool's own sentence and the reason for the question
MAX_WORDS_CHARS = 2000
# Platforms round the time of a message to seconds
ROUNDING_S = 2.0
# Of the two minutes that a person has: a platform that wants more is asked no more
MOST_WAITED_S = 30.0
_PLAIN = "`yes` or `no` alone counts while I ask nothing else here."
_ANSWER = re.compile(r"\s*(yes|no|always)\s+([a-z0-9]{4,12})\s*[.!]?\s*", re.IGNORECASE)


class _Open(Struct):
    address: Address
    question: Question
    answered: asyncio.Future[Answer]
    # By the loop's clock; None until the person can see the question
    shown_s: float | None = None

    def was_seen_by(self, said: Inbound) -> bool:
        """Return true if the message was written after the question was shown."""
        if self.shown_s is None:
            return False
        under_way_s = said.received_at_s - (said.sent_at_s or said.received_at_s)
        return under_way_s <= asyncio.get_running_loop().time() - self.shown_s + ROUNDING_S


class OpenApprovals:
    """Questions of one channel that wait for an answer."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}

    async def wait(self, address: Address, question: Question) -> Answer:
        """Wait for the answer to a question that was sent to `address`."""
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[question.question_id] = _Open(address, question, answered)
        try:
            return await answered
        finally:
            del self._open[question.question_id]

    def shown(self, question: Question) -> None:
        """Note that the person can see the question: from now on a plain word may answer it."""
        if (asked := self._open.get(question.question_id)) is not None:
            asked.shown_s = asyncio.get_running_loop().time()

    def answer(self, inbound: Inbound, *, has_files: bool = False) -> bool:
        """Take an answer to a question; return true if the message was one and is spent.

        Args:
            has_files: files come with it, fetched or not.
        """
        # What somebody else wrote, or the person to somebody else, is no answer; and a word that
        # was said aloud may have been another one
        if inbound.is_forwarded or inbound.is_spoken:
            return False
        found = _ANSWER.fullmatch(inbound.text)
        if found is None:
            return not has_files and self._answer_plainly(inbound)
        return self.press(inbound.address, found[2].lower(), Answer(found[1].lower()))

    def _answer_plainly(self, said: Inbound) -> bool:
        """Take a word without an id where one question alone can be meant."""
        is_yes = plain_answer(said.text)
        if is_yes is None or said.attachments:
            return False
        there = [one for one in self._open.values() if _is_same(one.address, said.address)]
        if len(there) != 1 or not there[0].was_seen_by(said):
            return False
        question = there[0].question
        if is_yes and question.yes_by is not YesBy.WORD:
            return False
        answer = Answer.YES if is_yes else Answer.NO
        return question.takes_word(said) and self.press(said.address, question.question_id, answer)

    def press(self, address: Address, question_id: str, answer: Answer) -> bool:
        """Take a pressed button; return true if the right person pressed it in time."""
        asked = self._open.get(question_id)
        if asked is None or asked.answered.done() or not _is_same(asked.address, address):
            return False
        if answer is Answer.NONE or (answer is Answer.ALWAYS and not asked.question.always):
            return False
        asked.answered.set_result(answer)
        return True


def answer_in(lines: Iterable[str]) -> str:
    """Return the only answer among lines; empty if there is none, or there are two that differ."""
    found = {
        " ".join(line.lower().split()).rstrip(" .!") for line in lines if _ANSWER.fullmatch(line)
    }
    return found.pop() if len(found) == 1 else ""


def question_text(question: Question) -> str:
    """Return the question as a message: the whole call, the reason, and how to answer."""
    # Its patterns take a tenth of a second on a Pi Zero, and no start needs them
    from agent.text.links import without_links  # noqa: PLC0415

    always = spelled_out(question.always)[:MAX_ALWAYS_CHARS]
    known = question.question_id
    lines = [
        spelled_text(question.words, MAX_WORDS_CHARS),
        f"{question.tool} {spelled_out(question.arguments_json)}",
        f"Why I ask: {spelled_out(question.reason)[:MAX_WORDS_CHARS]}.",
        f"To approve, answer `yes {known}`; to refuse, `no {known}`. You have two minutes.",
        _PLAIN if question.yes_by is YesBy.WORD else "",
        f"`always {known}` approves from now on: {always}." if always else "",
    ]
    # The call may hold an address, which a preview would fetch before anybody has answered
    return without_links("\n".join(line for line in lines if line))


def _is_same(asked: Address, answering: Address) -> bool:
    """Return true if the person who was asked answers, in the chat where they were asked."""
    return (asked.channel, asked.target, asked.person, asked.thread) == (
        answering.channel,
        answering.target,
        answering.person,
        answering.thread,
    )


Send = Callable[[Outbound], Awaitable[None]]
_Put = TypeVar("_Put")


async def put(send: Callable[[], Awaitable[_Put]]) -> _Put:
    """Put a part of a question, once more where the platform wants to be left alone first.

    Nobody else tries it again: without it the person would not be asked.

    Raises:
        ChannelError: it could not be put, or not in time.
    """
    loop = asyncio.get_running_loop()
    until_s = loop.time() + MOST_WAITED_S
    while True:
        try:
            return await send()
        except ChannelUnavailable as err:
            wait_s = err.retry_after_s
            if wait_s is None or loop.time() + wait_s > until_s:
                raise
        await asyncio.sleep(wait_s)


async def ask(questions: OpenApprovals, address: Address, question: Question, send: Send) -> Answer:
    """Ask by a message, and wait for the answer until cancelled.

    Args:
        send: puts the message; whoever listens tells its answer to `questions`.

    Raises:
        ChannelError: the question could not be put.
    """
    message = Outbound(
        0, address.channel, address.target, question_text(question), "", address.thread
    )
    # Before it is shown: a quick answer must find the question open
    waiting = asyncio.ensure_future(questions.wait(address, question))
    try:
        # Its first step opens it
        await asyncio.sleep(0)
        await put(partial(send, message))
        questions.shown(question)
        return await waiting
    finally:
        waiting.cancel()
