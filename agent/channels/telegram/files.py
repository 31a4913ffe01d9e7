"""Files of Telegram messages: first their path, then their content."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from agent.channels.file_stream import downloaded
from agent.channels.incoming_files import IncomingFile, IncomingFiles
from agent.channels.received_files import MAX_FILE_BYTES, ReceivedFiles
from agent.channels.telegram.client import TelegramApi
from agent.channels.telegram.inbound import TelegramAttachment
from agent.messages import Attachment, Inbound

if TYPE_CHECKING:
    from agent.channels.speech.base import Recogniser

# All files of a message; until then nothing else is heard, so not longer
FETCH_TIMEOUT_S = 45.0
# An album holds ten
MAX_FILES = 10


class TelegramFiles:
    """Fetcher of one bot's files.

    Args:
        recogniser: writes down voice messages; None where no service is configured.
        beat: says that the platform was heard.
    """

    def __init__(
        self,
        api: TelegramApi,
        keeping: ReceivedFiles,
        recogniser: "Recogniser | None",
        beat: Callable[[], None],
    ) -> None:
        self._api = api
        self._keeping = keeping
        self._beat = beat
        self._files = IncomingFiles(recogniser, beat, FETCH_TIMEOUT_S)

    async def with_files(self, inbound: Inbound, sent: Sequence[TelegramAttachment]) -> Inbound:
        """Return the message with its files, and a line for each that failed."""
        return await self._files.added_to(inbound, map(self._coming, sent[:MAX_FILES]))

    def _coming(self, sent: TelegramAttachment) -> IncomingFile:
        return IncomingFile(sent.what, partial(self._fetch, sent), sent.is_speech)

    async def _fetch(self, sent: TelegramAttachment) -> Attachment | str:
        file = sent.file
        if file.file_size > MAX_FILE_BYTES:
            return "it is larger than the 20 MB that Telegram hands out"
        told = await self._api.call("getFile", {"file_id": file.file_id})
        path = told.get("file_path") if isinstance(told, dict) else None
        if not isinstance(path, str) or not path or path.startswith("/"):
            return "the server does not say where it is"
        async with self._api.download(path) as answer:
            return await self._keeping.keep(
                downloaded(answer, self._beat), sent.media_type, file.file_name
            )
