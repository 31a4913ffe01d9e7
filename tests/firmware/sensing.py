"""One sensor on a board, asked as the agent asks, for the tests beside this file."""

import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from firmware.host.bundle import board_file
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import MEASURE_LIMIT_S, configure

FIRST = len(board_file("simulated").PINS)

Answer = tuple[int, ...] | str


class Sensed:
    """The sensor of the first entry.

    Args:
        wire: a session with its board.
        method: the number of its read method.
        layout: of the result, as `struct` has it; a shorter result is read as far as it goes.
    """

    def __init__(self, wire: Wire, method: int, layout: str) -> None:
        self.wire = wire
        self._method = method
        self._layout = layout

    def index(self, at: int = 0) -> bytes:
        return bytes([FIRST + at])

    def ask(self, at: int = 0) -> Answer:
        """The result of that entry, or the words of the refusal."""
        try:
            told = self.wire.call(self._method, self.index(at))
        except Refused as refused:
            return refused.text
        layout = self._layout
        while struct.calcsize("<" + layout) > len(told):
            layout = layout[:-1]
        return struct.unpack("<" + layout, told)

    def until(
        self, holds: Callable[[Answer], bool], at: int = 0, limit_s: float = MEASURE_LIMIT_S
    ) -> Answer:
        """The first answer of which that holds, or the last one when the time is over."""
        until_s = time.monotonic() + limit_s
        while not holds(told := self.ask(at)) and time.monotonic() < until_s:
            self.wire.rest(0.05)
        return told

    def values(self, at: int = 0) -> tuple[int, ...]:
        """The result, once there is one."""
        told = self.until(lambda answer: not isinstance(answer, str), at)
        assert not isinstance(told, str), told
        return told

    def near(self, *wanted: int, within: int = 1, at: int = 0) -> Answer:
        """The result that is close to that, or the last one when the time is over."""

        def is_near(answer: Answer) -> bool:
            if isinstance(answer, str) or len(answer) != len(wanted):
                return False
            return all(abs(one - two) <= within for one, two in zip(answer, wanted, strict=True))

        told = self.until(is_near, at)
        assert is_near(told), told
        return told

    def says(self, words: str, at: int = 0, limit_s: float = MEASURE_LIMIT_S) -> str:
        """The refusal with those words."""
        told = self.until(lambda answer: answer == words, at, limit_s)
        assert told == words
        return words


@contextmanager
def sensed(
    board: BoardSim, method: int, layout: str, *entries: Mapping[str, Any]
) -> Iterator[Sensed]:
    with Wire(str(board.port)) as wire:
        wire.greet()
        configure(wire, entries)
        yield Sensed(wire, method, layout)
