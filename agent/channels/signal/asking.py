"""Questions as messages, answered in words: Signal has no buttons."""

import asyncio

from agent.channels.answers import OpenQuestions, in_words
from agent.channels.base import Answer, Question
from agent.channels.signal.daemon import Daemon
from agent.channels.signal.letters import MAX_TEXT_BYTES
from agent.channels.signal.places import parameters_of
from agent.messages import Address

# A call that takes more messages than this to show is asked about at the terminal
MAX_MESSAGES = 4


class Asking:
    """Asks in chats; whoever listens tells the answers to `questions`."""

    def __init__(self, daemon: Daemon, questions: OpenQuestions) -> None:
        self._daemon = daemon
        self._questions = questions

    async def ask(self, address: Address, question: Question) -> Answer:
        """The answer; waits until cancelled.

        Raises:
            ChannelError: the question could not be put.
        """
        told = pieces(in_words(question))
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
    """The text in messages, byte for byte as it will act: nothing in it is Markdown."""
    # Four bytes for each character at most
    size = MAX_TEXT_BYTES // 4
    return [text[start : start + size] for start in range(0, len(text), size)]
