"""Throughput of reliable frames on a line of 115200 baud.

Counted are the wire bytes of the answers that arrived, each once: payload, header, CRC, COBS and
delimiters. Acknowledgements, repetitions and gaps count for nothing.
"""

import asyncio
import os
import pty
import struct
import time
import tty
from pathlib import Path

from agent.link import frame as codec
from agent.link.connection import BoardConnection
from agent.link.session import Request
from scripts.lib.bench.boards import connected, one_board
from scripts.lib.bench.lines import BYTES_PER_S_AT_115200, PacedLine
from scripts.lib.bench.relay import relay
from scripts.lib.bench.table import Row

BUDGET = 0.85
_DEADLINE_MS = 5_000
# More than the window, so that it is always full
_CALLERS = 12
_OVERHEAD_BYTES = codec.WIRE_LIMIT_BYTES - codec.PAYLOAD_LIMIT_BYTES
# Until the first round trips have told the timers how slow this line is
_SETTLE_S = 1.0
# Of the bare bytes, as much is on its way: what a full window of answers is
_AHEAD_BYTES = 1_700


def measure(seconds: float) -> Row:
    """The row of the throughput."""
    with one_board() as board, relay(board.port, PacedLine(), PacedLine()) as path:
        wire, payload, resent = asyncio.run(_share(path, seconds))
    raw = _raw_share(seconds / 2)
    return Row(
        "throughput at 115200 (paced pty)",
        f">= {BUDGET:.0%} of the line: answers with their framing, each once",
        f"{wire:.1%} (payload alone {payload:.1%}; {resent} frames sent again)",
        f"{raw:.1%} (bare bytes through the same relay)",
        wire >= BUDGET,
    )


async def _share(path: str, seconds: float) -> tuple[float, float, int]:
    sizes: list[int] = []
    async with connected(path) as connection, asyncio.TaskGroup() as group:
        over = asyncio.Event()
        for _ in range(_CALLERS):
            group.create_task(_read_manifest(connection, over, sizes))
        await asyncio.sleep(_SETTLE_S)
        sizes.clear()
        began_s = time.monotonic()
        await asyncio.sleep(seconds)
        done, taken_s = list(sizes), time.monotonic() - began_s
        over.set()
    capacity = taken_s * BYTES_PER_S_AT_115200
    return (
        sum(size + _OVERHEAD_BYTES for size in done) / capacity,
        sum(done) / capacity,
        connection.session.counters.frames_repeated,
    )


async def _read_manifest(
    connection: BoardConnection, over: asyncio.Event, sizes: list[int]
) -> None:
    head = struct.calcsize(codec.ANSWER_FORMAT)
    while not over.is_set():
        arguments = struct.pack("<I", 0)
        answer = await connection.call(Request(codec.METHOD_MANIFEST, arguments, _DEADLINE_MS))
        sizes.append(len(answer) + head)


def _raw_share(seconds: float) -> float:
    """Return the throughput of bytes without a protocol: the limit of the relay itself."""
    source, target = pty.openpty()
    tty.setraw(target)
    try:
        with relay(Path(os.ttyname(target)), PacedLine(), PacedLine()) as path:
            handle = os.open(path, os.O_RDWR | os.O_NOCTTY)
            try:
                return _count(source, handle, seconds) / (seconds * BYTES_PER_S_AT_115200)
            finally:
                os.close(handle)
    finally:
        os.close(source)
        os.close(target)


def _count(source: int, handle: int, seconds: float) -> int:
    ahead = os.write(source, bytes(_AHEAD_BYTES + 1)) - 1
    os.read(handle, 1)
    began_s, count = time.monotonic(), 0
    while time.monotonic() - began_s < seconds:
        got = len(os.read(handle, 4096))
        count += got
        ahead -= got
        if ahead < _AHEAD_BYTES:
            ahead += os.write(source, bytes(_AHEAD_BYTES))
    return count
