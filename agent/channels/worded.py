"""A question as a message, answered in words, for platforms where both are all there is."""

import asyncio
from collections.abc import Awaitable, Callable

from agent.channels.answers import OpenQuestions, in_words
from agent.channels.base import Answer, Question
from agent.messages import Address, Outbound

Send = Callable[[Outbound], Awaitable[None]]


async def ask(questions: OpenQuestions, address: Address, question: Question, send: Send) -> Answer:
    """The answer; waits until cancelled.

    Args:
        send: puts the message; whoever listens tells its answer to `questions`.

    Raises:
        ChannelError: the question could not be put.
    """
    message = Outbound(0, address.channel, address.target, in_words(question), "", address.thread)
    # Before it is shown: a quick answer must find the question open
    waiting = asyncio.ensure_future(questions.wait(address, question))
    try:
        # Its first step opens it
        await asyncio.sleep(0)
        await send(message)
        return await waiting
    finally:
        waiting.cancel()
