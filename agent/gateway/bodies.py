"""Bodies that are being read: how long each may take, and how much memory all of them hold.

Where they hold too much, the oldest of the large ones is refused, and not the newest.
"""

import asyncio
import contextlib
from collections.abc import Iterator

from agent.gateway.manners import MAX_BODY_BYTES

# A platform sends a body at once; who takes longer holds a connection
BODY_TIMEOUT_S = 5.0
# Each so many bytes give it a second more, so that a long body over a thin line comes through
LEAST_BYTES_PER_S = 64 * 1024
# Whatever comes: the longest body that is taken has 21 s at the least rate
MAX_BODY_S = BODY_TIMEOUT_S + MAX_BODY_BYTES / LEAST_BYTES_PER_S
# Of all bodies that are being read: a crowd of callers takes no more memory than this
MAX_HELD_BYTES = 2 * MAX_BODY_BYTES


class CrowdedOut(Exception):
    """All bodies together hold too much, and this one has to go."""


class Body:
    """One body while it comes."""

    def __init__(self, bodies: "Bodies") -> None:
        self._bodies = bodies
        self._begun_s = asyncio.get_running_loop().time()
        self.deadline = asyncio.timeout_at(self._begun_s + BODY_TIMEOUT_S)
        self.is_out = False
        self.held = bytearray()

    def add(self, piece: bytes) -> None:
        """Keep the piece, and give the rest more time for it.

        Raises:
            CrowdedOut: there is no room, and no other body has to go before this one.
        """
        self.held += piece
        self._bodies.make_room()
        if self.is_out:
            raise CrowdedOut
        earned_s = len(self.held) / LEAST_BYTES_PER_S
        self.deadline.reschedule(self._begun_s + min(BODY_TIMEOUT_S + earned_s, MAX_BODY_S))

    def give_up(self) -> None:
        """Hold nothing any more; whoever waits for the rest is woken."""
        self.is_out = True
        self.held = bytearray()
        if not self.deadline.expired():
            self.deadline.reschedule(asyncio.get_running_loop().time())


class Bodies:
    """All bodies that are being read, the oldest first."""

    def __init__(self) -> None:
        self._read: list[Body] = []

    @contextlib.contextmanager
    def reading(self) -> Iterator[Body]:
        body = Body(self)
        self._read.append(body)
        try:
            yield body
        finally:
            self._read.remove(body)

    @property
    def held_bytes(self) -> int:
        return sum(len(one.held) for one in self._read)

    def make_room(self) -> None:
        """Refuse the oldest of those that hold more than an even share, until there is room."""
        while (held := self.held_bytes) > MAX_HELD_BYTES:
            share = held / len(self._read)
            next(one for one in self._read if len(one.held) >= share).give_up()
