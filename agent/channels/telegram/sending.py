"""An answer into its chat: text first, then its files, none of them twice.

What was done of a message is remembered until all of it is: a file that fails does not repeat the
text.
"""

import logging
from collections.abc import Mapping
from pathlib import Path

from agent.channels.telegram.api import ApiRefused, TelegramApi
from agent.channels.telegram.drafts import Drafts
from agent.channels.telegram.silence import Silence
from agent.channels.telegram.words import Words, answering
from agent.errors import ChannelUnavailable
from agent.messages import Attachment, Outbound

_log = logging.getLogger(__name__)

# What the platform takes of a bot
MAX_FILE_BYTES = 50 * 1024 * 1024
# Larger pictures go as files
MAX_PHOTO_BYTES = 10 * 1024 * 1024
# Messages whose first steps were done when a later one failed
MAX_UNFINISHED = 100
# By what it is: the method, and its field for the file
_KINDS: Mapping[str, tuple[str, str]] = {
    "image/jpeg": ("sendPhoto", "photo"),
    "image/png": ("sendPhoto", "photo"),
    "image/webp": ("sendPhoto", "photo"),
    "audio/ogg": ("sendVoice", "voice"),
    "audio/mpeg": ("sendAudio", "audio"),
    "video/mp4": ("sendVideo", "video"),
}
_AS_FILE = ("sendDocument", "document")


class Sending:
    """Sends messages, in the order in which it is asked to."""

    def __init__(self, api: TelegramApi, words: Words, drafts: Drafts, silence: Silence) -> None:
        self._api = api
        self._words = words
        self._drafts = drafts
        self._silence = silence
        # By message and part, how many steps are done
        self._done: dict[tuple[int, int], int] = {}

    async def send(self, message: Outbound) -> None:
        """Return when the platform has all of it.

        Raises:
            ChannelError: it has not.
        """
        self._silence.demand(message.recipient)
        try:
            await self._send(message)
        except ChannelUnavailable as err:
            self._silence.note(message.recipient, err)
            raise

    async def _send(self, message: Outbound) -> None:
        key = (message.outbox_id, message.part)
        done = self._done.get(key, 0)
        if done == 0:
            if message.text.strip():
                await self._say(message)
            self._note(key, 1)
        for step, file in enumerate(message.files, start=1):
            if done <= step:
                await self._give(message, file)
                self._note(key, step + 1)
        self._done.pop(key, None)

    def _note(self, key: tuple[int, int], steps: int) -> None:
        if len(self._done) >= MAX_UNFINISHED and key not in self._done:
            self._done.pop(next(iter(self._done)))
        self._done[key] = steps

    async def _say(self, message: Outbound) -> None:
        if message.part == 0 and (shown := await self._drafts.end(message)):
            where = {"chat_id": self._words.chat_of(message.recipient), "message_id": shown}
            try:
                await self._words.put("editMessageText", where, message.text)
            except ApiRefused as err:
                # Somebody deleted it, or it is too old: the answer comes as a message
                _log.info("a draft cannot become the answer: %s", err)
                await self._words.put("sendMessage", self._place(message), message.text)
        else:
            await self._words.put("sendMessage", self._place(message), message.text)
        if message.part == 0:
            self._drafts.forget(message)

    async def _give(self, message: Outbound, file: Attachment) -> None:
        place = self._words.place(message.recipient, message.thread)
        if trouble := _unsendable(file):
            await self._words.put("sendMessage", place, trouble)
            return
        method, field = _KINDS.get(file.media_type, _AS_FILE)
        if field == "photo" and file.size_bytes > MAX_PHOTO_BYTES:
            method, field = _AS_FILE
        try:
            await self._api.upload(method, place, field, file)
        except ApiRefused:
            if (method, field) == _AS_FILE:
                raise
            # A picture of odd proportions, a sound that is none: a file is a file
            await self._api.upload(_AS_FILE[0], place, _AS_FILE[1], file)

    def _place(self, message: Outbound) -> dict[str, object]:
        place = self._words.place(message.recipient, message.thread)
        # In a chat of two it is clear what is answered
        is_group = message.recipient.startswith("-")
        return place | (answering(message.in_reply_to) if is_group and message.part == 0 else {})


def _unsendable(file: Attachment) -> str:
    """Why a file cannot go, for whoever waits for it; empty where it can."""
    try:
        size = Path(file.path).stat().st_size
    except OSError:
        return f"({file.name or 'The file'} was to come with this, and is not there any more.)"
    if size > MAX_FILE_BYTES:
        return f"({file.name or 'The file'} is larger than the 50 MB that Telegram takes.)"
    return "" if size else f"({file.name or 'The file'} was to come with this, and is empty.)"
