"""Windows for messages to people: a day after they have written.

Kept over restarts for whom the agent knows. Of whom nothing is on record nothing is known to be
allowed: what waits is late, and what is sent too late is lost.
"""

import asyncio
import logging
from pathlib import Path

import msgspec
from msgspec import Struct

from agent.errors import StorageFull
from agent.storage.files import write_atomic
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# What the platform's documentation says, less the time that an answer is on its way
WINDOW_S = 24 * 3600.0 - 60
# People; whoever wrote last is forgotten last
MAX_PEOPLE = 500
MAX_FILE_BYTES = 1024 * 1024


class _KeptWindow(msgspec.Struct, frozen=True):
    # By people's time: what is left of it after a restart
    until_s: float
    said_at_s: float


class _Kept(msgspec.Struct, frozen=True):
    number_id: str
    people: dict[str, _KeptWindow]


class _Window(Struct, frozen=True):
    until_s: float
    # By the platform's time
    said_at_s: float
    is_kept: bool


class WhatsAppWindows:
    """Windows in which people may be written to; `is_open` needs no wait.

    Args:
        number_id: whose windows: those of another number are none of ours.
    """

    def __init__(self, path: Path, number_id: str, clock: Clock) -> None:
        self._path = path
        self._number_id = number_id
        self._clock = clock
        self._people: dict[str, _Window] = {}
        self._one_at_a_time = asyncio.Lock()
        self._load()

    def is_open(self, person: str) -> bool:
        window = self._people.get(person)
        return window is not None and self._clock.monotonic_s() < window.until_s

    async def open(self, person: str, said_at_s: float, *, is_known: bool) -> None:
        """Open the window of a person who has written.

        Args:
            is_known: what strangers do leaves nothing on the disk.
        """
        # However late it came: the platform itself says when that was too late
        until_s = self._clock.monotonic_s() + WINDOW_S
        self._people.pop(person, None)
        self._people[person] = _Window(until_s, said_at_s, is_known)
        while len(self._people) > MAX_PEOPLE:
            self._forget_one()
        await self._save(person)

    async def close(self, person: str, refused_at_s: float | None = None) -> None:
        """Close the window: the platform takes nothing more for them.

        Args:
            refused_at_s: by its time; what they have said since then has opened it again.
        """
        window = self._people.get(person)
        if window is None or (refused_at_s is not None and refused_at_s < window.said_at_s):
            return
        self._people[person] = _Window(0.0, window.said_at_s, window.is_kept)
        await self._save(person)

    def _forget_one(self) -> None:
        """Forget one window; strangers do not push out others."""
        oldest = next(iter(self._people))
        strangers = (one for one, window in self._people.items() if not window.is_kept)
        del self._people[next(strangers, oldest)]

    async def _save(self, person: str) -> None:
        window = self._people.get(person)
        if window is None or not window.is_kept:
            return
        async with self._one_at_a_time:
            await asyncio.to_thread(self._write, self._kept())

    def _kept(self) -> _Kept:
        now_s, wall_s = self._clock.monotonic_s(), self._clock.wall_s()
        left = {
            person: _KeptWindow(wall_s + window.until_s - now_s, window.said_at_s)
            for person, window in self._people.items()
            if window.is_kept and now_s < window.until_s
        }
        return _Kept(self._number_id, left)

    def _load(self) -> None:
        kept = self._read()
        if kept is None or kept.number_id != self._number_id:
            return
        now_s, wall_s = self._clock.monotonic_s(), self._clock.wall_s()
        for person, one in kept.people.items():
            # A clock that was set back makes nothing longer
            until_s = now_s + min(one.until_s - wall_s, WINDOW_S)
            self._people[person] = _Window(until_s, one.said_at_s, is_kept=True)

    def _read(self) -> _Kept | None:
        try:
            with self._path.open("rb") as file:
                return msgspec.json.decode(file.read(MAX_FILE_BYTES), type=_Kept)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def _write(self, kept: _Kept) -> None:
        try:
            write_atomic(self._path, msgspec.json.encode(kept))
        except (StorageFull, OSError) as err:
            _log.warning(
                "whatsapp: reply windows not saved; after a restart people must write first "
                "(reason=%s)",
                err,
            )
