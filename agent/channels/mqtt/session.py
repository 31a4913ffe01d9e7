"""State of the device at one broker, kept over restarts: its name, and how old what waits may be.

A broker says again what it was not told of; the same message must be known by the same id then.
MQTT gives none, only a number that is used again: so the ids that we gave are kept. Nor does it say
when a message was written: so it is kept up to when everything that was written had come.
"""

import asyncio
import contextlib
import hashlib
import json
import secrets
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

from agent.errors import StorageFull
from agent.storage.files import write_atomic
from agent.system.clock import Clock

# More than a broker is allowed to have under way to us at once
MAX_RECENT = 64
# Written so often while everything comes: after a kill, what waits is taken for so much older than
# it may be, which is less than makes a message old. A write costs a card one small file
NOTED_S = 300.0
# What waited at a broker comes with the greeting, one after the other
DRAINED_S = 2.0


class MqttState:
    """State of one device at one broker.

    Args:
        left_at_s: everything that was written before this time has come, in seconds since the
            epoch; 0 where it is not known.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self.left_at_s = 0.0
        # Since when nothing has come that had waited; None while there is no connection, or while
        # something is being taken that the broker will say again
        self._drained_since_s: float | None = None
        self._client_id = ""
        # By the broker's number of a message: what it was, and the id that we gave it
        self._recent: OrderedDict[int, tuple[str, str]] = OrderedDict()

    async def client_id(self) -> str:
        """Return the device's client id, made at the first use."""
        if not self._client_id:
            await asyncio.to_thread(self._load)
        return self._client_id

    def waiting_since_s(self) -> float:
        """Return the earliest time at which something that waited may have been written."""
        # A clock that was set back since tells nothing
        return self.left_at_s if self.left_at_s <= self._clock.wall_s() else 0.0

    def join(self) -> None:
        """Note the beginning of a connection: what waited comes now."""
        self._drained_since_s = self._clock.monotonic_s()

    @contextlib.contextmanager
    def taking(self, *, is_late: bool) -> Iterator[None]:
        """Take a message in the block; one that cannot be taken comes again, and is no younger."""
        since_s, self._drained_since_s = self._drained_since_s, None
        yield
        self._drained_since_s = self._clock.monotonic_s() if is_late else since_s

    async def note_while_joined(self) -> None:
        """Note now and then that everything has come; until cancelled."""
        while True:
            await self._clock.sleep(NOTED_S)
            await self._note_if_drained()

    async def leave(self) -> None:
        """Note the end of a connection; without room what waits then is taken for older."""
        await self._note_if_drained()
        self._drained_since_s = None

    async def _note_if_drained(self) -> None:
        since_s = self._drained_since_s
        if since_s is not None and self._clock.monotonic_s() - since_s >= DRAINED_S:
            await self.note(self._clock.wall_s())

    async def note(self, at_s: float) -> None:
        """Note that everything that was written before has come."""
        self.left_at_s = at_s
        with contextlib.suppress(StorageFull):
            await asyncio.to_thread(self._write)

    async def message_id(self, number: int, topic: str, payload: bytes, *, is_again: bool) -> str:
        """Return the id of a message without one.

        Raises:
            StorageFull: it cannot be kept, so that the message must not be confirmed.
        """
        digest = hashlib.sha256(topic.encode() + b"\0" + payload).hexdigest()
        known = self._recent.get(number)
        if is_again and known is not None and known[0] == digest:
            return known[1]
        given = secrets.token_hex(8)
        self._recent.pop(number, None)
        self._recent[number] = (digest, given)
        while len(self._recent) > MAX_RECENT:
            self._recent.popitem(last=False)
        await asyncio.to_thread(self._write)
        return given

    def _load(self) -> None:
        try:
            told = json.loads(self._path.read_bytes())
            recent = [(int(number), (str(one), str(two))) for number, one, two in told["recent"]]
            self._recent = OrderedDict(recent[-MAX_RECENT:])
            self.left_at_s = float(told.get("left_at_s", 0.0))
            self._client_id = str(told["client_id"])
        except (OSError, ValueError, TypeError, KeyError):
            self._client_id = f"barnacle-{secrets.token_hex(4)}"
            self._write()

    def _write(self) -> None:
        recent = [(number, *told) for number, told in self._recent.items()]
        told = {"client_id": self._client_id, "recent": recent, "left_at_s": self.left_at_s}
        write_atomic(self._path, json.dumps(told).encode())
