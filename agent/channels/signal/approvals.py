"""Approval questions as messages: Signal has no buttons."""

import asyncio

from agent.channels.approvals import OpenApprovals, question_text
from agent.channels.base import Answer, Question
from agent.channels.signal.client import SignalClient
from agent.channels.signal.ids import parameters_of
from agent.channels.signal.writer import MAX_TEXT_BYTES
from agent.messages import Address

# A call that takes more messages than this to show is asked about at the terminal
MAX_MESSAGES = 4


class SignalApprovals:
    """Approval questions in Signal chats; the receiver tells the answers to `questions`."""

    def __init__(self, daemon: SignalClient, questions: OpenApprovals) -> None:
        self._daemon = daemon
        self._questions = questions

    async def ask(self, address: Address, question: Question) -> Answer:
        """Ask, and wait for the answer until cancelled.

        Raises:
            ChannelError: the question could not be put.
        """
        told = pieces(question_text(question))
        if len(told) > MAX_MESSAGES:
            return Answer.NONE
        # Before it is shown: a quick answer must find the question open
        waiting = asyncio.ensure_future(self._questions.wait(address, question))
        try:
            # Its first step opens it
            await asyncio.sleep(0)
            place = parameters_of(address.target)
            for text in told:
                await self._daemon.call("send", {**place, "message": text})
            return await waiting
        finally:
            waiting.cancel()


def pieces(text: str) -> list[str]:
    """Split the text into messages, byte for byte: nothing in it is Markdown."""
    # Four bytes for each character at most
    size = MAX_TEXT_BYTES // 4
    return [text[start : start + size] for start in range(0, len(text), size)]
