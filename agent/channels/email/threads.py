"""What an answer has to repeat of the letter it answers; kept, since an answer may wait."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from agent.channels.email.letter import MAX_LINE_CHARS, MAX_REFERENCES, Letter

_log = logging.getLogger(__name__)

# Letters that are still answered in their thread; later ones begin another
MAX_LETTERS = 500
MAX_FILE_BYTES = 4 * 1024 * 1024


class Heading(msgspec.Struct, frozen=True):
    """Of one letter."""

    subject: Annotated[str, Meta(max_length=MAX_LINE_CHARS)]
    references: Annotated[tuple[str, ...], Meta(max_length=MAX_REFERENCES)]


class Threads:
    """A file that a restart finds again; losing it costs a subject line, so nothing is flushed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: OrderedDict[str, Heading] | None = None

    async def note(self, letter: Letter) -> None:
        known = await self._loaded()
        known[letter.message_id] = Heading(letter.subject, letter.references)
        while len(known) > MAX_LETTERS:
            known.popitem(last=False)
        await asyncio.to_thread(self._write, dict(known))

    async def heading(self, message_id: str) -> Heading:
        """Empty for a letter that nobody remembers."""
        return (await self._loaded()).get(message_id, Heading("", ()))

    async def _loaded(self) -> OrderedDict[str, Heading]:
        if self._known is None:
            self._known = OrderedDict(await asyncio.to_thread(self._read))
        return self._known

    def _read(self) -> Mapping[str, Heading]:
        try:
            with self._path.open("rb") as file:
                return msgspec.json.decode(file.read(MAX_FILE_BYTES), type=dict[str, Heading])
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return {}

    def _write(self, known: Mapping[str, Heading]) -> None:
        temp = self._path.with_name(f"{self._path.name}.part")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temp.write_bytes(msgspec.json.encode(known))
            temp.replace(self._path)
        except OSError as err:
            _log.warning("what letters were about is not kept: %s", err.strerror)
