"""Outputs that are on for a limited time; each goes back to its safe value at the end.

The board holds no output without this agent: where it dies, hangs or loses the cable, the lease
ends and the output is safe. What is here ends it in time while everything works.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Annotated

from msgspec import Meta, Struct

from agent.errors import BadArguments, LinkError, OutcomeUnknown
from agent.link.base import Board, Value
from agent.link.devices.device_table import by_capability
from agent.link.manifest import BoardPin, Field, Method
from agent.passage import Passage, echo, own

_log = logging.getLogger(__name__)

# The name of the argument beside those of the board's own method
FOR_SECONDS = "for_seconds"
# A day: whoever wants more wants no end
MAX_SECONDS = 86_400
# What a lease of the board can be trusted to see; less is the business of a reflex
LEAST_SECONDS = 0.1
ForSeconds = Annotated[
    float,
    Meta(
        ge=0,
        le=MAX_SECONDS,
        description="then back to its safe value; 0: until it is changed",
    ),
]
# An end whose answer was lost is said again: it is harmless twice
_TRIES = 3
# What a pin can do that has one value to go back to
_ENDABLE = frozenset(name for name, row in by_capability().items() if row.at_rest is None)


def can_end(method: Method) -> bool:
    """Return true for a write of one output with a safe value."""
    kinds = [field.pins for field in method.arguments if field.pins]
    return method.lease and len(kinds) == 1 and kinds[0] in _ENDABLE


class OutputLimits(Struct, frozen=True):
    """Limits of an output that is on for a time.

    Args:
        longest_s: 0 is any time.
    """

    name: str
    safe: Value
    longest_s: float

    def check(self, value: Value, for_s: float) -> None:
        """Raise BadArguments if the value cannot be held so long; nothing is changed then."""
        if for_s < LEAST_SECONDS:
            raise BadArguments(
                own("for_seconds must be at least {}, or 0 for no end", LEAST_SECONDS)
            )
        if value == self.safe:
            raise BadArguments(
                own(
                    "{} is the safe value of {}, which needs no end: leave out for_seconds",
                    echo(str(value)),
                    echo(self.name),
                )
            )
        if self.longest_s and for_s > self.longest_s:
            raise BadArguments(
                own(
                    "{} may be on for {} s at a time (max_on_s in its configuration), "
                    "not for {} s: nothing was done",
                    echo(self.name),
                    self.longest_s,
                    for_s,
                )
            )


def safe_value(pin: BoardPin, setting: Field) -> Value:
    if setting.choices:
        return setting.choices[min(pin.safe, len(setting.choices) - 1)]
    return pin.safe


class Endings:
    """Pending ends of one board's outputs; the last order for a pin counts.

    Args:
        moved: is told of a pin that was brought back.
    """

    def __init__(self, board: Board, moved: Callable[[str], None] = lambda _: None) -> None:
        self._board = board
        self._moved = moved
        self._coming: dict[str, asyncio.Task[None]] = {}
        # When each output was switched on: a board counts its longest time from there
        self._on_since_s: dict[str, float] = {}
        # An end and an order for the same pin take turns: the one that comes second is the last
        self._turns: dict[str, asyncio.Lock] = {}

    @property
    def pins(self) -> tuple[str, ...]:
        """Return the names of outputs that are on for a time."""
        return tuple(self._coming)

    def turn(self, pin: str) -> asyncio.Lock:
        """Return the lock that an order for a pin holds until its answer is there."""
        return self._turns.setdefault(pin, asyncio.Lock())

    def overstay(self, pin: BoardPin, for_s: float) -> Passage | None:
        """Return why an order cannot hold a pin so long that is on already; None if it can."""
        now_s = asyncio.get_running_loop().time()
        if pin.name not in self._board.held:
            self._on_since_s[pin.name] = now_s
        longest_s = pin.max_on_ms / 1000
        left_s = round(longest_s - (now_s - self._on_since_s.get(pin.name, now_s)), 1)
        # One that is over has ended, and the board is about to tell it
        if not 0 < left_s < for_s:
            return None
        return own(
            "{} is on and may be on for {} s more (max_on_s in its configuration is {} s), "
            "not for {} s: nothing was done",
            echo(pin.name),
            left_s,
            longest_s,
            for_s,
        )

    def call_off(self, pin: str) -> None:
        """Cancel the end of a pin, because it was set again."""
        if (ending := self._coming.pop(pin, None)) is not None:
            ending.cancel()

    def end_later(self, pin: str, method: str, at_rest: Mapping[str, Value], for_s: float) -> None:
        """Bring the pin back after so many seconds, with a write of these values."""
        self.call_off(pin)
        self._coming[pin] = asyncio.create_task(self._end(pin, method, at_rest, for_s))

    async def _end(self, pin: str, method: str, at_rest: Mapping[str, Value], for_s: float) -> None:
        await asyncio.sleep(for_s)
        async with self.turn(pin):
            self._coming.pop(pin, None)
            await self._end_now(pin, method, at_rest)

    async def _end_now(self, pin: str, method: str, at_rest: Mapping[str, Value]) -> None:
        # First of all, so that the board ends it should the next words be lost
        if not self._board.let_go(pin):
            # A stop, another session or its own limit has ended it; what holds it now is not ours
            return
        for _ in range(_TRIES):
            try:
                await self._board.call(method, at_rest)
            except OutcomeUnknown:
                continue
            except LinkError as err:
                _log.warning(
                    "output: not set to its safe value; its lease will end (pin=%s): %s",
                    pin,
                    err,
                )
            else:
                self._moved(pin)
            return
