"""Time from a reset of a board to its greeting, by the firmware as it is installed."""

import contextlib
import os
import statistics
import struct
import tempfile
import time
from pathlib import Path

from agent.link import frame as codec
from firmware.host.wire import Silence, Wire
from scripts.lib.bench.table import Row
from tests.fakes.board_sim import BoardSim

_BOARD = "nucleo_f411re"
_BAR_MS = 1_000
# Longer than the watchdog waits; it is reset in the middle of it
_SPIN_MS = 4_000
_WATCHDOG = 3
# The watchdog's time, the start, and a busy machine
_LIMIT_S = 30.0
# Finer than what is measured, and time enough for an answer
_ASKS_EVERY_S = 0.03


def measure(resets: int) -> Row:
    """The row of the start."""
    with tempfile.TemporaryDirectory(prefix="barnacle-bench-") as name:
        folder = Path(name)
        with BoardSim(folder, flash=folder / "flash", board=_BOARD) as board:
            taken_ms = sorted(_reset(board) for _ in range(resets))
    return Row(
        "from a reset to the greeting, from its slot",
        f"<= {_BAR_MS:,} ms, p50",
        f"{statistics.median(taken_ms):.0f} ms, worst {taken_ms[-1]:.0f} ms ({resets} resets)",
        f"{_BOARD}, simulated",
        statistics.median(taken_ms) <= _BAR_MS,
    )


def _reset(board: BoardSim) -> float:
    """Return the milliseconds between a watchdog's reset and the greeting after it."""
    seen = len(_times_ms(board))
    # One that is reset in the middle of it has no answer
    with contextlib.suppress(ValueError):
        board.order({"spin_ms": _SPIN_MS})
    until_s = time.monotonic() + _LIMIT_S
    with Wire(str(board.port)) as wire:
        while time.monotonic() < until_s:
            if not _greets(wire):
                continue
            greeted_ms = time.monotonic() * 1000
            times_ms = _times_ms(board)
            if wire.greeting[6] == _WATCHDOG and len(times_ms) > seen:
                return greeted_ms - times_ms[-1]
    raise Silence("the board was not reset, or does not greet after it")


def _greets(wire: Wire) -> bool:
    """Ask once, and wait so long as one that listens may take."""
    wire.nonce = wire.decoder.nonce = struct.unpack("<I", os.urandom(4))[0] | 1
    wire.send(codec.HELLO, struct.pack(codec.HELLO_FORMAT, 1, 1, wire.nonce))
    for frame in wire.frames(_ASKS_EVERY_S):
        if frame.kind == codec.HELLO_ACK:
            wire.greeting = struct.unpack_from(codec.HELLO_ACK_FORMAT, frame.payload)
            return bool(wire.greeting[0] == wire.nonce)
    return False


def _times_ms(board: BoardSim) -> list[int]:
    return [event["ms"] for event in board.record() if event["event"] == "watchdog"]
