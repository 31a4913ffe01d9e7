"""The files of a message, fetched before anybody hears of it.

What cannot be had is said in the message: nothing that a person sent disappears in silence.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace

from agent.channels.keeping import MAX_FILE_BYTES, Keeping
from agent.channels.telegram.api import TelegramApi
from agent.channels.telegram.understanding import Sent
from agent.channels.transcribing import Transcriber
from agent.errors import ChannelError, ChannelUnavailable, NetworkError
from agent.http import HttpAnswer
from agent.messages import Attachment, Inbound

# All files of a message; until then nothing else is heard, so not longer
FETCH_TIMEOUT_S = 45.0
# An album holds ten
MAX_FILES = 10


class Fetching:
    """Fetches files of one bot.

    Args:
        transcriber: writes down voice messages; None where no service is configured.
        beat: says that the platform was heard.
    """

    def __init__(
        self,
        api: TelegramApi,
        keeping: Keeping,
        transcriber: Transcriber | None,
        beat: Callable[[], None],
    ) -> None:
        self._api = api
        self._keeping = keeping
        self._transcriber = transcriber
        self._beat = beat

    async def with_files(self, inbound: Inbound, sent: Sequence[Sent]) -> Inbound:
        """The message with its files, and a line for each that could not be had."""
        kept: list[Attachment] = []
        lines = [inbound.text]
        deadline_s = asyncio.get_running_loop().time() + FETCH_TIMEOUT_S
        for one in sent[:MAX_FILES]:
            try:
                async with asyncio.timeout_at(deadline_s):
                    attachment = await self._fetch(one)
            except TimeoutError:
                attachment = "it did not come in time"
            except ChannelError as err:
                attachment = str(err)
            if isinstance(attachment, str):
                lines.append(f"[{one.what} that could not be fetched: {attachment}]")
                continue
            kept.append(attachment)
            if one.is_speech:
                lines.append(await self._said(attachment))
        text = "\n".join(line for line in lines if line)
        return replace(inbound, text=text, attachments=tuple(kept))

    async def _fetch(self, sent: Sent) -> Attachment | str:
        file = sent.file
        if file.file_size > MAX_FILE_BYTES:
            return "it is larger than the 20 MB that Telegram hands out"
        told = await self._api.call("getFile", {"file_id": file.file_id})
        path = told.get("file_path") if isinstance(told, dict) else None
        if not isinstance(path, str) or not path or path.startswith("/"):
            return "the server does not say where it is"
        async with self._api.download(path) as answer:
            return await self._keeping.keep(self._pieces(answer), sent.media_type, file.file_name)

    async def _pieces(self, answer: HttpAnswer) -> AsyncIterator[bytes]:
        try:
            while piece := await answer.read():
                self._beat()
                yield piece
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err

    async def _said(self, speech: Attachment) -> str:
        if self._transcriber is None:
            return "[a voice message; no speech service is configured that writes it down]"
        text, trouble = await self._transcriber.words(speech)
        self._beat()
        return text or f"[a voice message that was not written down: {trouble}]"
