"""Files of Signal messages: the daemon sends Base64 inside JSON.

It is decoded while it comes, so that no file is ever held in memory.
"""

import binascii
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from agent.channels.incoming_files import IncomingFile, IncomingFiles
from agent.channels.received_files import ReceivedFiles, too_large
from agent.channels.signal.client import SignalClient, result_in
from agent.channels.signal.events import SignalFile
from agent.channels.signal.ids import parameters_of
from agent.errors import ChannelUnavailable, NetworkError
from agent.messages import Attachment, Inbound
from agent.net.http import HttpAnswer
from agent.text.printable import printable_line

if TYPE_CHECKING:
    from agent.channels.speech.base import Recogniser

# All files of a message; until then nothing else is heard, and a stream that is not read for
# longer is taken for dead
FETCH_TIMEOUT_S = 40.0
# Telephones let nobody send more at once
MAX_FILES = 32
MAX_TYPE_CHARS = 100
# What stands before the file in an answer is short; an answer without one is an error
MAX_HEAD_BYTES = 64 * 1024
_HEAD = re.compile(rb'"data"\s*:\s*"')
_ANY_TYPE = "application/octet-stream"


class SignalFiles:
    """Fetcher of one account's files.

    Args:
        recogniser: writes down voice messages; None where no service is configured.
        beat: says that the platform was heard.
    """

    def __init__(
        self,
        daemon: SignalClient,
        keeping: ReceivedFiles,
        recogniser: "Recogniser | None",
        beat: Callable[[], None],
    ) -> None:
        self._daemon = daemon
        self._keeping = keeping
        self._beat = beat
        self._files = IncomingFiles(recogniser, beat, FETCH_TIMEOUT_S)

    async def with_files(self, inbound: Inbound, files: Sequence[SignalFile]) -> Inbound:
        """Return the message with its files, and a line for each that failed."""
        place = parameters_of(inbound.reply_target)
        coming = (
            IncomingFile(in_words(file), partial(self._fetch, file, place), file.is_voice_note)
            for file in files[:MAX_FILES]
        )
        return await self._files.added_to(inbound, coming)

    async def _fetch(self, file: SignalFile, place: Mapping[str, object]) -> Attachment | str:
        if reason := too_large(file.size or 0):
            return reason
        async with self._daemon.answering("getAttachment", {"id": file.id, **_one(place)}) as got:
            return await self._keeping.keep(self._pieces(got), _type(file), file.filename or "")

    async def _pieces(self, answer: HttpAnswer) -> AsyncGenerator[bytes, None]:
        """Yield the decoded Base64 of an answer; raises as a call does."""
        try:
            head = await _head(answer)
            rest = head
            while True:
                encoded, end, _ = rest.partition(b'"')
                # Four letters stand for three bytes; the others wait for their like
                whole = len(encoded) if end else len(encoded) // 4 * 4
                if whole:
                    yield binascii.a2b_base64(encoded[:whole], strict_mode=True)
                if end:
                    return
                piece = await answer.read()
                if not piece:
                    raise ChannelUnavailable("signal-cli stopped in the middle of a file")
                self._beat()
                rest = encoded[whole:] + piece
        except NetworkError as err:
            raise ChannelUnavailable(str(err)) from err
        except binascii.Error as err:
            raise ChannelUnavailable("unreadable file from signal-cli") from err


def in_words(file: SignalFile) -> str:
    """Return the file's name for a person."""
    kind = _type(file).partition("/")[0]
    sound = "a file" if file.is_voice_note is False else "a voice message"
    kinds = {"image": "a picture", "audio": sound, "video": "a video"}
    return kinds.get(kind, "a file")


async def _head(answer: HttpAnswer) -> bytes:
    """Return the beginning of the file's text; raise the daemon's error if there is one."""
    head = b""
    while (piece := await answer.read()) and len(head) <= MAX_HEAD_BYTES:
        head += piece
        if found := _HEAD.search(head):
            return head[found.end() :]
    result_in("getAttachment", head)
    raise ChannelUnavailable("signal-cli sent no file")


def _type(file: SignalFile) -> str:
    told = printable_line(file.content_type or "", MAX_TYPE_CHARS).strip()
    return told if "/" in told else _ANY_TYPE


def _one(place: Mapping[str, object]) -> Mapping[str, object]:
    """Return the only recipient, since this call takes no list."""
    recipient = place.get("recipient")
    return {"recipient": recipient[0]} if isinstance(recipient, list) else place
