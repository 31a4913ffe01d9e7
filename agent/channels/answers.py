"""Answers in words to questions about tool calls, for platforms where an answer is a message.

A message is an answer only from the person who was asked, where they were asked, with the id of a
question that is open: each answers one question, once. Nothing else is taken; text that a tool or
another person wrote never reaches this.
"""

import asyncio
import re
from dataclasses import dataclass

from agent.channels.base import Answer, Question
from agent.defang import defanged
from agent.messages import Address, Inbound
from agent.printable import spelled_out, spelled_text

# What "always" would stand for, in one line
MAX_ALWAYS_CHARS = 400
# A tool's own sentence and the reason for the question
MAX_WORDS_CHARS = 2000
_ANSWER = re.compile(r"\s*(yes|no|always)\s+([a-z0-9]{4,12})\s*[.!]?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Open:
    address: Address
    may_stand: bool
    answered: asyncio.Future[Answer]


class OpenQuestions:
    """The questions of one channel that wait for an answer."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}

    async def wait(self, address: Address, question: Question) -> Answer:
        """The answer to a question that was sent there; waits until cancelled."""
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[question.question_id] = _Open(address, bool(question.always), answered)
        try:
            return await answered
        finally:
            del self._open[question.question_id]

    def answer(self, inbound: Inbound) -> bool:
        """Take an answer to a question; return true if the message was one and is spent."""
        found = _ANSWER.fullmatch(inbound.text)
        # What somebody else wrote, or the person to somebody else, is no answer
        if found is None or inbound.is_forwarded:
            return False
        return self.press(inbound.address, found[2].lower(), Answer(found[1].lower()))

    def press(self, address: Address, question_id: str, answer: Answer) -> bool:
        """The same of a button: whether it was pressed by whom it was for, and in time."""
        asked = self._open.get(question_id)
        if asked is None or asked.answered.done() or not _is_same(asked.address, address):
            return False
        if answer is Answer.NONE or (answer is Answer.ALWAYS and not asked.may_stand):
            return False
        asked.answered.set_result(answer)
        return True


def in_words(question: Question) -> str:
    """The question as a message: every byte that will act, and what to answer."""
    always = spelled_out(question.always)[:MAX_ALWAYS_CHARS]
    known = question.question_id
    lines = [
        spelled_text(question.words, MAX_WORDS_CHARS),
        f"{question.tool} {spelled_out(question.arguments_json)}",
        f"It needs your word: {spelled_out(question.reason)[:MAX_WORDS_CHARS]}.",
        f"Answer `yes {known}` or `no {known}`, within two minutes.",
        f"`always {known}` would be: {always}." if always else "",
    ]
    # The call may hold an address, which a preview would fetch before anybody has answered
    return defanged("\n".join(line for line in lines if line))


def _is_same(asked: Address, answering: Address) -> bool:
    """The person who was asked, in the chat where they were asked."""
    return (asked.channel, asked.target, asked.person, asked.thread) == (
        answering.channel,
        answering.target,
        answering.person,
        answering.thread,
    )
