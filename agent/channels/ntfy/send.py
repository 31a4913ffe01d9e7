"""Sender of answers, questions and files to a topic."""

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path

from agent.channels import approvals
from agent.channels.approvals import OpenApprovals, question_text
from agent.channels.base import Answer, Question
from agent.channels.delivery_steps import DeliverySteps, unsendable
from agent.channels.ntfy.client import NtfyApi
from agent.channels.ntfy.events import OWN_TAG
from agent.errors import MessageRefused
from agent.messages import Address, Attachment, Outbound

# A server makes a file of what is longer than 4096
MAX_PART_BYTES = 3800
# What ntfy.sh and a server as it is installed take at once
MAX_FILE_BYTES = 15 * 1024 * 1024
_PIECE_BYTES = 64 * 1024
# A call that takes more messages than this to show is asked about at the terminal
MAX_MESSAGES = 4
# Rings also where a telephone is set to be quiet
_URGENT = 4
_LABELS = {Answer.YES: "Yes", Answer.NO: "No", Answer.ALWAYS: "Always"}


class NtfySender:
    """Sender of one topic, in the order of the calls."""

    def __init__(self, api: NtfyApi, questions: OpenApprovals) -> None:
        self._api = api
        self._questions = questions
        self._unfinished = DeliverySteps()

    async def send(self, message: Outbound) -> None:
        """Return when the server has all of it.

        Raises:
            ChannelError: it has not.
        """
        await self._unfinished.go_on(message, self._say, self._give)

    async def ask(self, address: Address, question: Question) -> Answer:
        """Ask, and wait for the answer until cancelled.

        Raises:
            ChannelError: the question could not be put.
        """
        told = _pieces(question_text(question))
        if len(told) > MAX_MESSAGES:
            return Answer.NONE

        async def put(_message: Outbound) -> None:
            for text in told[:-1]:
                await self._api.publish({"message": text, "tags": [OWN_TAG]})
            await self._api.publish(self._with_buttons(told[-1], question))

        return await approvals.ask(self._questions, address, question, put)

    async def _say(self, message: Outbound) -> None:
        from agent.channels.render.plain import to_plain  # noqa: PLC0415 - an answer needs it, no start

        told: dict[str, object] = {"message": to_plain(message.text), "tags": [OWN_TAG]}
        if message.outbox_id:
            # The same again takes the place of what came first, where a server knows of that
            told["sequence_id"] = f"barnacle-{message.outbox_id}-{message.part}"
        await self._api.publish(told)

    async def _give(self, message: Outbound, file: Attachment) -> None:
        if trouble := unsendable(file, MAX_FILE_BYTES, "go over ntfy from here"):
            await self._api.publish({"message": trouble, "tags": [OWN_TAG]})
            return
        path = Path(file.path)
        headers = {"filename": _header(file.name or path.name), "tags": OWN_TAG}
        try:
            size = (await asyncio.to_thread(path.stat)).st_size
            await self._api.upload(headers, _content(path, size), size)
        except OSError as err:
            raise MessageRefused(f"cannot read the file: {err.strerror}") from err

    def _with_buttons(self, text: str, question: Question) -> dict[str, object]:
        """Return the question with buttons; each publishes its answer to the topic.

        A topic with access rules gets none: a telephone's button has no login, and ours is not to
        be handed to whoever reads the topic.
        """
        told: dict[str, object] = {"message": text, "tags": [OWN_TAG], "priority": _URGENT}
        if not self._api.is_open:
            return told
        answers = [Answer.YES, Answer.NO, *([Answer.ALWAYS] if question.always else [])]
        press = {"action": "http", "url": self._api.url, "method": "POST", "clear": True}
        told["actions"] = [
            {**press, "label": _LABELS[answer], "body": f"{answer.value} {question.question_id}"}
            for answer in answers
        ]
        return told


def parts(text: str) -> tuple[str, ...]:
    from agent.channels.render.splitter import split  # noqa: PLC0415 - no start needs them
    from agent.channels.render.styled import utf8_bytes  # noqa: PLC0415 - as above

    return split(text, MAX_PART_BYTES, utf8_bytes)


def _pieces(text: str) -> list[str]:
    """Split the text into messages, byte for byte: nothing in it is Markdown."""
    # Four bytes for each character at most
    size = MAX_PART_BYTES // 4
    return [text[start : start + size] for start in range(0, len(text), size)]


async def _content(path: Path, size: int) -> AsyncIterator[bytes]:
    """Yield exactly the announced length, even if the file changes."""
    file = await asyncio.to_thread(path.open, "rb")
    try:
        while size and (piece := await asyncio.to_thread(file.read, min(_PIECE_BYTES, size))):
            size -= len(piece)
            yield piece
    finally:
        file.close()


def _header(name: str) -> str:
    """Return a name that a header can carry."""
    kept = "".join(char for char in name if char.isprintable())[:100] or "file"
    if kept.isascii():
        return kept
    return f"=?UTF-8?B?{base64.b64encode(kept.encode()).decode()}?="
