"""Sender of answers to Telegram: the draft becomes the answer."""

import logging
from collections.abc import Mapping

from agent.channels.delivery_steps import DeliverySteps, unsendable
from agent.channels.telegram.client import TelegramApi, TelegramRefused
from agent.channels.telegram.drafts import TelegramDrafts
from agent.channels.telegram.markup import TelegramTexts, answering
from agent.channels.telegram.rate_limits import TelegramRateLimits
from agent.errors import ChannelUnavailable
from agent.messages import Attachment, Outbound

_log = logging.getLogger(__name__)

# What the platform takes of a bot
MAX_FILE_BYTES = 50 * 1024 * 1024
# Larger pictures go as files
MAX_PHOTO_BYTES = 10 * 1024 * 1024
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


class TelegramSender:
    """Sender of messages, in the order of the calls."""

    def __init__(
        self,
        api: TelegramApi,
        words: TelegramTexts,
        drafts: TelegramDrafts,
        silence: TelegramRateLimits,
    ) -> None:
        self._api = api
        self._words = words
        self._drafts = drafts
        self._silence = silence
        self._unfinished = DeliverySteps()

    async def send(self, message: Outbound) -> None:
        """Return when the platform has all of it.

        Raises:
            ChannelError: it has not.
        """
        self._silence.demand(message.recipient)
        try:
            await self._unfinished.go_on(message, self._say, self._give)
        except ChannelUnavailable as err:
            self._silence.note(message.recipient, err)
            raise

    async def _say(self, message: Outbound) -> None:
        if message.part == 0 and (shown := await self._drafts.end(message)):
            where = {"chat_id": self._words.chat_of(message.recipient), "message_id": int(shown)}
            try:
                await self._words.put("editMessageText", where, message.text)
            except TelegramRefused as err:
                # Somebody deleted it, or it is too old: the answer comes as a message
                _log.info("telegram: draft not turned into the answer (reason=%s)", err)
                await self._words.put("sendMessage", self._place(message), message.text)
        else:
            await self._words.put("sendMessage", self._place(message), message.text)
        if message.part == 0:
            self._drafts.forget(message)

    async def _give(self, message: Outbound, file: Attachment) -> None:
        place = self._words.place(message.recipient, message.thread)
        if trouble := unsendable(file, MAX_FILE_BYTES, "Telegram takes"):
            await self._words.put("sendMessage", place, trouble)
            return
        method, field = _KINDS.get(file.media_type, _AS_FILE)
        if field == "photo" and file.size_bytes > MAX_PHOTO_BYTES:
            method, field = _AS_FILE
        try:
            await self._upload(place, file, method, field)
        except TelegramRefused:
            if (method, field) == _AS_FILE:
                raise
            # A picture of odd proportions, a sound that is none: a file is a file
            await self._upload(place, file, *_AS_FILE)

    async def _upload(
        self, place: Mapping[str, object], file: Attachment, method: str, field: str
    ) -> None:
        await self._words.at(place, lambda there: self._api.upload(method, there, field, file))

    def _place(self, message: Outbound) -> dict[str, object]:
        place = self._words.place(message.recipient, message.thread)
        # In a chat of two it is clear what is answered
        is_group = message.recipient.startswith("-")
        return place | (answering(message.in_reply_to) if is_group and message.part == 0 else {})
