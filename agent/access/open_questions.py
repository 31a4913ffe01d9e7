"""Register of the questions that are open now: who was asked where, and whose turn waits.

It says whether a plain word can mean one question only, and how an open question is answered.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from agent.channels.base import Question, YesBy
from agent.messages import Address, Inbound

_COMES_NEXT = "I read your message after that."
_WITHDRAW = "/stop withdraws the question."


class _Asked(Struct, frozen=True, eq=False):
    """A question, where it was put, and the conversation whose turn waits for it."""

    place: Address
    question: Question
    conversation: str

    def is_put_to(self, said: Inbound) -> bool:
        asked, here = self.place, said.address
        return (asked.channel, asked.target, asked.person, asked.thread) == (
            here.channel,
            here.target,
            here.person,
            here.thread,
        )


class OpenQuestions:
    """Questions that wait for an answer, on all channels."""

    def __init__(self) -> None:
        self._asked: list[_Asked] = []
        # Conversations in which a turn waits for words: the next message is the answer
        self._wants_words: Counter[str] = Counter()

    @contextlib.contextmanager
    def asked(self, place: Address, question: Question, conversation: str) -> Iterator[Question]:
        """Register a question while it is open; yields it as it is to be asked."""
        one = _Asked(place, replace(question, takes_word=self._is_only_one), conversation)
        self._asked.append(one)
        try:
            yield one.question
        finally:
            self._asked.remove(one)

    @contextlib.contextmanager
    def wants_words(self, conversation: str) -> Iterator[None]:
        """Register a question whose answer is the next message of a conversation."""
        self._wants_words[conversation] += 1
        try:
            yield
        finally:
            self._wants_words[conversation] -= 1
            self._wants_words += Counter()

    def holds(self, said: Inbound) -> bool:
        """Return true if the message waits for a question that its conversation's turn put."""
        return any(one.conversation == said.conversation for one in self._asked)

    def takes(self, said: Inbound) -> bool:
        """Return true if the message can only be a try to answer; it is no message of its own."""
        from agent.text.plain_words import plain_answer  # noqa: PLC0415 - few messages meet a question

        if plain_answer(said.text) is None or said.is_forwarded or said.attachments:
            return False
        return self.holds(said) or any(one.is_put_to(said) for one in self._asked)

    def instruction(self, said: Inbound) -> str:
        """Return how to answer or withdraw what is open; empty if nothing concerns the message."""
        there = [one.question for one in self._asked if one.is_put_to(said)]
        if there:
            line = _how_to_answer(there, is_clear=self._is_only_one(said))
        elif self.holds(said):
            line = "I have asked the owner, and wait for the answer for two minutes at most."
        else:
            return ""
        is_read = self.holds(said) and not self.takes(said)
        parts = (line, _WITHDRAW if self.holds(said) else "", _COMES_NEXT if is_read else "")
        return " ".join(filter(None, parts))

    def _is_only_one(self, said: Inbound) -> bool:
        there = [one for one in self._asked if one.is_put_to(said)]
        return len(there) == 1 and not self._wants_words[said.conversation]


def _how_to_answer(questions: list[Question], *, is_clear: bool) -> str:
    if len(questions) > 1:
        told = [
            f"`yes {one.question_id}` or `no {one.question_id}` ({one.tool})" for one in questions
        ]
        return f"More than one question is open here. Answer {', '.join(told)}."
    (question,) = questions
    known = question.question_id
    about = f"I wait for your answer about {question.tool}"
    no = "`no`" if is_clear else f"`no {known}`"
    if question.yes_by is YesBy.DEVICE:
        return f"{about}: press the button on the device, or answer {no}."
    if is_clear and question.yes_by is YesBy.WORD:
        return f"{about}: answer `yes` or `no`."
    why = ", because it can do harm" if is_clear else ""
    return f"{about}: answer exactly `yes {known}`{why}, or {no}."
