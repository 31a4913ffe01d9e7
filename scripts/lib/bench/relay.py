"""A wire between the agent and a board that is worse than it looks: two terminals and a thread.

The agent opens `path`; what it writes is carried to the board by one `Line`, what the board
says by another. A line says when each piece arrives, if at all.
"""

import contextlib
import heapq
import os
import pty
import select
import threading
import time
import tty
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

_READ_BYTES = 4096
# How late a piece may be because nobody looked: less than a byte at 115200 baud
_TICK_S = 0.00005
# Nothing is on the way: only to notice the end
_QUIET_S = 0.05

Piece = tuple[float, bytes]


class Line(Protocol):
    """One direction of a wire."""

    def carry(self, data: bytes, now_s: float) -> Iterator[Piece]:
        """Return the arrival time of each piece, on the clock of `now_s`."""


@contextlib.contextmanager
def relay(board: Path, there: Line, back: Line) -> Iterator[str]:
    """The path of a terminal that leads to the board over both lines."""
    with contextlib.ExitStack() as stack:
        near, far = pty.openpty()
        tty.setraw(far)
        target = os.open(board, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(target)
        for handle in (near, far, target):
            os.set_blocking(handle, False)
            stack.callback(os.close, handle)
        over = threading.Event()
        worker = threading.Thread(target=_run, args=(over, (near, target), (there, back)))
        worker.start()
        stack.callback(worker.join)
        stack.callback(over.set)
        yield os.ttyname(far)


def _run(over: threading.Event, ends: tuple[int, int], lines: tuple[Line, Line]) -> None:
    poll = select.poll()
    for end in ends:
        poll.register(end, select.POLLIN)
    way = {ends[0]: (lines[0], ends[1]), ends[1]: (lines[1], ends[0])}
    # Arrival, a number that keeps the order of equals, where to, what
    flying: list[tuple[float, int, int, bytes]] = []
    number = 0
    while not over.is_set():
        left_s = flying[0][0] - time.monotonic() if flying else _QUIET_S
        for handle, _ in poll.poll(max(0.0, left_s) * 1000):
            line, other = way[handle]
            for arrives_s, data in line.carry(_read(handle), time.monotonic()):
                heapq.heappush(flying, (arrives_s, number, other, data))
                number += 1
        while flying and flying[0][0] <= time.monotonic() + _TICK_S:
            _, _, other, data = heapq.heappop(flying)
            _write(other, data)


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, _READ_BYTES)
    except BlockingIOError:
        return b""


def _write(handle: int, data: bytes) -> None:
    # A terminal that is full loses what comes, as a UART does
    with contextlib.suppress(BlockingIOError):
        os.write(handle, data)
