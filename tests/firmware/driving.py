"""Ends of what a device does: a lease, an emergency stop, a cut cable, for the tests of outputs."""

import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from agent.link import frame as codec
from firmware.host.bundle import board_file
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import configure
from tests.waits import wait_until_sync

FIRST = len(board_file("simulated").PINS)
# With its lease: only where the lease is to end it, that ends first
ENDS = (("lease", 200), ("estop", 10_000), ("silence", 10_000))
# Later it would be the longest lease that ends it
_LIMIT_S = 8.0


class Driven:
    """The output of the entry at that place."""

    def __init__(self, wire: Wire, method: int, layout: str, at: int = 0) -> None:
        self.wire = wire
        self.mask = struct.pack("<I", 1 << FIRST + at)
        self._index = bytes([FIRST + at])
        self._method = method
        self._layout = "<" + layout

    def write(self, *values: int) -> bytes:
        return self.wire.call(self._method, self._index + struct.pack(self._layout, *values))

    def refusal(self, *values: int) -> tuple[int, str]:
        """The code and the words with which it refuses; code 0 is that it does not."""
        try:
            self.write(*values)
        except Refused as refused:
            return refused.code, refused.text
        return 0, ""

    def renew(self) -> None:
        self.wire.call(codec.METHOD_LEASE_RENEW, self.mask)

    def renewed_until(self, holds: Callable[[], bool], limit_s: float = 15.0) -> None:
        """Hold it until that is so."""
        until_s = time.monotonic() + limit_s
        while not holds():
            assert time.monotonic() < until_s
            self.renew()
            self.wire.rest(0.05)

    def ended(self, end: str, is_safe: Callable[[], bool]) -> None:
        """End it so, and see that it is safe; the link stays alive while its lease ends."""
        if end == "estop":
            self.wire.send(codec.ESTOP)
        until_s = time.monotonic() + _LIMIT_S
        while end == "lease" and not is_safe() and time.monotonic() < until_s:
            self.wire.rest(0.05)
        wait_until_sync(is_safe, _LIMIT_S)


@contextmanager
def driven(
    board: BoardSim, method: int, layout: str, *entries: Mapping[str, Any], at: int = 0
) -> Iterator[Driven]:
    with Wire(str(board.port)) as wire:
        wire.greet()
        wire.clear()
        configure(wire, entries)
        yield Driven(wire, method, layout, at)
        wire.greet()
        wire.clear()
