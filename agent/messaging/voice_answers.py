"""Answers as voice messages, after their text: nothing that fails here costs anybody a word."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from agent.messages import Attachment, Outbound
from agent.messaging.delivery import Delivery

_log = logging.getLogger(__name__)

# The text as a voice message of this media type; None where it is not spoken
Speak = Callable[[str, str], Awaitable[Attachment | None]]


async def say_aloud(answer: Outbound, media_type: str, speak: Speak, delivery: Delivery) -> None:
    """Send an answer that has arrived as a voice message."""
    try:
        voice = await speak(delivery.redacted(answer.text), media_type)
    except Exception:  # noqa: BLE001 - a supervisor: the answer is there, whatever became of its sound
        _log.exception("voice: answer not spoken (answer=%d)", answer.outbox_id)
        return
    if voice is None:
        return
    told = await delivery.announce(
        answer.channel, answer.recipient, "", answer.thread, files=(voice,)
    )
    if told is None or await delivery.send(told):
        await asyncio.to_thread(Path(voice.path).unlink, missing_ok=True)
