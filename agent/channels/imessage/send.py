"""Sender of answers and files to iMessage, each once.

Messages takes what it is given without a number of ours, and its receipt may be lost. So it is on
record from which row of the Mac's on a message may stand there, and whoever tries again looks.
"""

import hashlib
import re
import secrets
from collections.abc import Callable
from pathlib import Path

from agent.channels.approvals import question_text
from agent.channels.base import Question
from agent.channels.delivery_steps import DeliverySteps, unsendable
from agent.channels.imessage.client import BlueBubblesApi
from agent.channels.imessage.cursor import ImessageCursor
from agent.channels.imessage.events import ImessageMessage, ImessageSent
from agent.channels.started_drafts import Key, StartedDrafts
from agent.errors import MessageRefused
from agent.messages import Attachment, Outbound

# Longer ones are taken, and are no pleasure to read on a telephone
MAX_PART_CHARS = 4000
# What Apple lets through of one file
MAX_FILE_BYTES = 100 * 1024 * 1024
# A call that takes more to show is asked about at the terminal
MAX_QUESTION_CHARS = 12_000
_NO_LETTER = re.compile(r"\W+")


class ImessageSender:
    """Sender of messages, in the order of the calls."""

    def __init__(self, api: BlueBubblesApi, position: ImessageCursor, folder: Path) -> None:
        self._api = api
        self._position = position
        self._begun = StartedDrafts(folder / "sending.json")
        self._unfinished = DeliverySteps()
        self._method = ""
        # The last row that we have written ourselves
        self._row = 0

    async def send(self, message: Outbound) -> None:
        """Return when Messages has all of it.

        Raises:
            ChannelError: it has not, or that is not known.
        """
        await self._unfinished.go_on(message, self._say, self._give)

    async def question(self, message: Outbound, question: Question) -> None:
        """Send a question that shows the call character by character."""
        text = question_text(question)
        if len(text) > MAX_QUESTION_CHARS:
            raise MessageRefused("the question is too long for Messages")
        await self._put(message, text)

    def forget_method(self) -> None:
        """Forget how to send: the server may have been set up anew."""
        self._method = ""

    async def _say(self, message: Outbound) -> None:
        from agent.channels.render.plain import to_plain  # noqa: PLC0415 - an answer needs it, no start

        await self._put(message, to_plain(message.text))

    async def _give(self, message: Outbound, file: Attachment) -> None:
        if trouble := unsendable(file, MAX_FILE_BYTES, "Messages takes"):
            await self._put(message, trouble)
            return
        name = Path(file.name or file.path).name
        known = _known_as(message, file.path)
        key = (message.recipient, message.thread, known)
        if await self._stands(key, lambda one: any(it.name == name for it in one.attachments)):
            return
        try:
            self._note(key, await self._api.upload({**await self._told(key), "name": name}, file))
        except OSError as err:
            raise MessageRefused(f"cannot read the file: {err.strerror}") from err

    async def _put(self, message: Outbound, text: str) -> None:
        key = (message.recipient, message.thread, _known_as(message, text))
        words = _letters(text)
        if await self._stands(key, lambda one: _letters(one.text or "") == words):
            return
        self._note(key, await self._api.say({**await self._told(key), "message": text}))

    async def _stands(self, key: Key, is_it: Callable[[ImessageMessage], bool]) -> bool:
        """Return true if it was sent before and its receipt was lost; note it as possibly sent."""
        left = await self._begun.left(key)
        if left:
            for one in await self._api.in_chat(key[0], int(left)):
                if one.is_from_me and not one.error and is_it(one):
                    self._note(key, ImessageSent(one.guid, one.row))
                    return True
        else:
            await self._begun.note(key, str(max(self._position.row, self._row)))
        return False

    async def _told(self, key: Key) -> dict[str, object]:
        if not self._method:
            self._method = (await self._api.info()).method
        # One that is on its way is not taken a second time
        return {"chatGuid": key[0], "tempGuid": key[2], "method": self._method}

    def _note(self, key: Key, sent: ImessageSent) -> None:
        self._row = max(self._row, sent.row)
        self._begun.settle(key)


def parts(text: str) -> tuple[str, ...]:
    from agent.channels.render.splitter import split  # noqa: PLC0415 - no start needs it

    return split(text, MAX_PART_CHARS, len)


def _known_as(message: Outbound, content: str) -> str:
    """Return the same id for the same content; unkept messages are never tried again."""
    number = message.outbox_id if message.outbox_id > 0 else secrets.token_hex(8)
    told = f"{number}\0{message.part}\0{content}".encode("utf-8", "replace")
    return f"barnacle-{hashlib.sha256(told).hexdigest()[:32]}"


def _letters(text: str) -> str:
    """Return the text without the spaces and signs that Messages changes."""
    return _NO_LETTER.sub("", text) or text
