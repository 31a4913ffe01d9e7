"""Second board of a bench: it watches wires that come from the board under test.

Its own clock tells when a level changed, so that neither the host nor the board under test has a
part in what is measured.
"""

import struct
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple, Self

from agent.link import frame as codec
from agent.link.frame import Frame
from firmware.host.wire import Refused, Silence, Wire

# Events that wait in the board until they are read: four pulses
_QUEUE = 8
# What one look waits for
_LOOK_S = 0.05


class Edge(NamedTuple):
    """Change of a wire.

    Args:
        at_ms: by the tester's clock.
        heard_s: monotonic time at which the host heard of it.
    """

    value: int
    at_ms: int
    heard_s: float


class Tester:
    """A board whose inputs are watched in a thread, from `with` to its end.

    Args:
        wire: a greeted session with it.
        pins: indexes of the inputs, in the manifest of that board.
    """

    def __init__(self, wire: Wire, pins: Sequence[int]) -> None:
        self._wire = wire
        self._pins = list(pins)
        self._edges: dict[int, list[Edge]] = {pin: [] for pin in pins}
        self._heard = threading.Condition()
        self._is_over = threading.Event()
        self._fault = ""
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        for place, pin in enumerate(self._pins):
            fields = (place, pin, codec.SUBSCRIBE_CHANGE, 0, 0, 0, _QUEUE, _QUEUE)
            self._wire.call(codec.METHOD_SUBSCRIBE, struct.pack(codec.SUBSCRIBE_FORMAT, *fields))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        for number in range(len(self._pins)):
            self._wire.call(codec.METHOD_UNSUBSCRIBE, bytes([number]))

    def mark(self, pin: int) -> int:
        """Return how many edges a pin has had: what comes now is later."""
        with self._heard:
            return len(self._edges[pin])

    def edges(self, pin: int, since: int, count: int, limit_s: float) -> list[Edge]:
        """Return what came after a mark, as soon as there are `count` edges or the time is over.

        Raises:
            RuntimeError: the tester does not answer, or edges came faster than it could tell.
        """
        with self._heard:
            self._heard.wait_for(
                lambda: self._fault or len(self._edges[pin]) - since >= count, limit_s
            )
            if self._fault:
                raise RuntimeError(f"the tester: {self._fault}")
            return self._edges[pin][since:]

    def _watch(self) -> None:
        try:
            while not self._is_over.is_set():
                self._wire.rest(_LOOK_S)
                self._take(self._wire.events)
        except (OSError, Refused, Silence) as err:
            self._fail(str(err))

    def _take(self, events: list[Frame]) -> None:
        while events:
            number, _, dropped, at_ms, value = struct.unpack(
                codec.EVENT_FORMAT, events.pop(0).payload
            )
            if dropped:
                self._fail(f"{dropped} edges were too quick for it")
            with self._heard:
                self._edges[self._pins[number]].append(Edge(value, at_ms, time.monotonic()))
                self._heard.notify_all()
            self._wire.call(codec.METHOD_CREDIT, struct.pack(codec.CREDIT_FORMAT, number, 1))

    def _fail(self, why: str) -> None:
        with self._heard:
            self._fault = why
            self._heard.notify_all()
