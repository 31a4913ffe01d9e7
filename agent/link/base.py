"""The seam of a board: what the rest of the agent may ask of it.

A board is always there as an object; whether hardware answers is `state`. Calls fail at once with
`LinkLost` while it does not.
"""

import enum
from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from agent.link.counters import Counters
from agent.link.manifest import Manifest

# A typed value of a call: a pin name, a choice, or a number in the unit of the manifest
Value = str | int | float
Unsubscribe = Callable[[], None]


class BoardState(enum.Enum):
    """State of the link to a board."""

    # No port is configured or none exists
    ABSENT = "absent"
    # A port exists and the greeting has not been answered yet
    CONNECTING = "connecting"
    # The greeting was answered: calls go through
    READY = "ready"
    # Something answers that cannot be used; `BoardStatus.trouble` says why
    REFUSED = "refused"
    # The agent has let go of the board
    CLOSED = "closed"


# A boot count from here on is a random number, of a board that counts none
UNCOUNTED = 0x8000_0000


class BoardIdentity(Struct, frozen=True):
    """Identity of a board, from its greeting."""

    board: str
    unique_id: str
    firmware: str
    build: int
    protocol: int
    reset_cause: str
    boot_count: int
    flash_class: str


class BoardStatus(Struct, frozen=True):
    """The link as a person would want it told; `trouble` is a sentence or empty."""

    state: BoardState
    port: str
    identity: BoardIdentity | None = None
    trouble: str = ""


class Standing:
    """Status of a link as it is now, and whoever is told that it has become another one."""

    def __init__(self, now: BoardStatus) -> None:
        self.now = now
        self._watchers: list[Callable[[], None]] = []

    def watch(self, watcher: Callable[[], None]) -> Unsubscribe:
        """Call `watcher` after each change."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def becomes(self, status: BoardStatus) -> bool:
        """Note the status; return true if it is another one."""
        if status == self.now:
            return False
        self.now = status
        for watcher in list(self._watchers):
            watcher()
        return True


class Board(Protocol):
    """A board behind the link."""

    @property
    def name(self) -> str: ...

    @property
    def status(self) -> BoardStatus: ...

    @property
    def manifest(self) -> Manifest | None:
        """Manifest of the board; the last connection's while it is away."""

    async def call(self, method: str, arguments: Mapping[str, Value]) -> dict[str, Value]:
        """Run a method of the manifest; names and units as the manifest gives them.

        Raises:
            LinkLost: nothing was done.
            OutcomeUnknown: it may have been done; it is not repeated.
            CallRefused: the board said no.
        """

    async def exchange(self, method: int, arguments: bytes) -> bytes:
        """Run a method of the link itself, which no manifest describes; packed on both ways.

        Raises:
            LinkLost, OutcomeUnknown, CallRefused: as for `call`.
        """

    @property
    def held(self) -> frozenset[str]:
        """Outputs whose leases this agent renews."""

    def let_go(self, pin: str) -> bool:
        """Renew the lease of an output no more, so that it ends; whether this agent held it."""

    async def release(self) -> None:
        """Every output to its safe value, now."""

    def stop(self) -> None:
        """Every output locked at its safe value, now and at every connection, until `allow`."""

    def allow(self) -> None:
        """Send no more stops; what is locked stays locked until `unlock`."""

    @property
    def counters(self) -> Counters:
        """Counters of the present session, else of the last one."""

    @property
    def pending(self) -> tuple[str, ...]:
        """Loosened limits of the new configuration that wait for the owner's yes."""

    def agree(self) -> None:
        """The owner agrees to what is pending: it is put in place, every output safe."""

    async def unlock(self) -> str:
        """Release what the board has locked, whatever for; a sentence that says how it went."""

    def on_manifest(self, listener: Callable[[Manifest], None]) -> Unsubscribe:
        """Call `listener` with the manifest now, if known, and whenever another one is learned."""
