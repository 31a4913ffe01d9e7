"""The files of a message, fetched from where the platform keeps them."""

from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial

from agent.channels.discord.api import DiscordApi
from agent.channels.discord.events import VOICE_FLAG, File, Message
from agent.channels.discord.understanding import MAX_NAME_CHARS, files_of
from agent.channels.incoming import Coming, IncomingFiles
from agent.channels.keeping import MAX_FILE_BYTES
from agent.channels.place import Place
from agent.errors import ChannelUnavailable, NetworkError
from agent.http import HttpAnswer
from agent.messages import Attachment, Inbound
from agent.printable import printable_line

# All files of a message; until then what comes after it waits
FETCH_TIMEOUT_S = 45.0
# As many as a message holds
MAX_FILES = 10
_KINDS = {"image": "a picture", "audio": "a piece of music", "video": "a video"}


class Fetching:
    """Fetches files of one bot.

    Args:
        beat: says that the platform was heard.
    """

    def __init__(self, api: DiscordApi, place: Place, beat: Callable[[], None]) -> None:
        self._api = api
        self._place = place
        self._beat = beat
        self._files = IncomingFiles(place.transcriber, beat, FETCH_TIMEOUT_S)

    async def with_files(self, inbound: Inbound, message: Message) -> Inbound:
        """The message with its files, and a line for each that could not be had."""
        is_speech = bool(message.flags & VOICE_FLAG)
        sent: Sequence[File] = [*files_of(message)][:MAX_FILES]
        return await self._files.added_to(
            inbound, [self._coming(file, is_speech=is_speech) for file in sent]
        )

    def _coming(self, file: File, *, is_speech: bool) -> Coming:
        return Coming(
            called(file, is_speech=is_speech), partial(self._fetch, file), lambda _kept: is_speech
        )

    async def _fetch(self, file: File) -> Attachment | str:
        if file.size > MAX_FILE_BYTES:
            return f"it is larger than {MAX_FILE_BYTES // 1024 // 1024} MB"
        kind = printable_line(file.content_type, MAX_NAME_CHARS)
        async with self._api.download(file.url) as answer:
            return await self._place.keeping.keep(
                self._pieces(answer), kind or "application/octet-stream", file.filename
            )

    async def _pieces(self, answer: HttpAnswer) -> AsyncIterator[bytes]:
        try:
            while piece := await answer.read():
                self._beat()
                yield piece
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err


def called(file: File, *, is_speech: bool) -> str:
    """Return the file's name for a person."""
    if is_speech:
        return "a voice message"
    return _KINDS.get(file.content_type.partition("/")[0], "a file")
