"""Files of Discord messages."""

from collections.abc import Callable, Sequence
from functools import partial

from agent.channels.context import ChannelContext
from agent.channels.discord.client import DiscordApi
from agent.channels.discord.events import VOICE_FLAG, DiscordFile, DiscordMessage
from agent.channels.discord.inbound import MAX_NAME_CHARS, files_of
from agent.channels.file_stream import downloaded
from agent.channels.incoming_files import IncomingFile, IncomingFiles
from agent.channels.received_files import too_large
from agent.messages import Attachment, Inbound
from agent.text.printable import printable_line

# All files of a message; until then what comes after it waits
FETCH_TIMEOUT_S = 45.0
# As many as a message holds
MAX_FILES = 10
_KINDS = {"image": "a picture", "audio": "a piece of music", "video": "a video"}


class DiscordFiles:
    """Fetcher of one bot's files.

    Args:
        beat: says that the platform was heard.
    """

    def __init__(self, api: DiscordApi, place: ChannelContext, beat: Callable[[], None]) -> None:
        self._api = api
        self._place = place
        self._beat = beat
        self._files = IncomingFiles(place.recogniser, beat, FETCH_TIMEOUT_S)

    async def with_files(self, inbound: Inbound, message: DiscordMessage) -> Inbound:
        """Return the message with its files, and a line for each that failed."""
        is_speech = bool(message.flags & VOICE_FLAG)
        sent: Sequence[DiscordFile] = [*files_of(message)][:MAX_FILES]
        return await self._files.added_to(
            inbound, [self._coming(file, is_speech=is_speech) for file in sent]
        )

    def _coming(self, file: DiscordFile, *, is_speech: bool) -> IncomingFile:
        what = called(file, is_speech=is_speech)
        return IncomingFile(what, partial(self._fetch, file), is_speech)

    async def _fetch(self, file: DiscordFile) -> Attachment | str:
        if reason := too_large(file.size):
            return reason
        kind = printable_line(file.content_type, MAX_NAME_CHARS)
        async with self._api.download(file.url) as answer:
            return await self._place.keeping.keep(
                downloaded(answer, self._beat), kind or "application/octet-stream", file.filename
            )


def called(file: DiscordFile, *, is_speech: bool) -> str:
    """Return the file's name for a person."""
    if is_speech:
        return "a voice message"
    return _KINDS.get(file.content_type.partition("/")[0], "a file")
