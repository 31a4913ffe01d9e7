"""Round trip of a call, against a bare echo of the same bytes by the same interpreter.

Calls and echoes take turns, one by one, in one event loop and on one core: what is compared is
work. How long another core takes to wake up, or another program to make room, is added to both and
would make the call look good: each core is tried, and the blocks with the quickest echoes count.
"""

import asyncio
import contextlib
import os
import pty
import statistics
import subprocess
import tempfile
import time
import tty
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.link import frame as codec
from agent.link.frame import Frame, encode
from agent.link.port import SerialPort, open_port
from agent.link.session import Request
from firmware.host import interpreter
from scripts.lib.bench.boards import BAUD, GPIO_READ, PINS, connected, one_board
from scripts.lib.bench.table import Row

BUDGET = 4.0
_DEADLINE_MS = 1_000
_WARM_UP = 100
_BLOCK = 100
# On each core
_LEAST_BLOCKS = 8
# Of all blocks, those that were disturbed least
_COUNTED_SHARE = 1 / 4
_ANSWER_LIMIT_S = 2.0
# Nothing but bytes in, bytes out
_ECHO = """
import select, sys
stream = open(int(sys.argv[1]), "r+b", buffering=0)
waiting = select.poll()
waiting.register(stream, select.POLLIN)
buffer = bytearray(256)
view = memoryview(buffer)
while True:
    waiting.poll()
    length = stream.readinto(buffer)
    if length:
        stream.write(view[:length])
"""


def measure(calls: int) -> Row:
    """The row of the round trip."""
    blocks: list[Block] = []
    cores = sorted(os.sched_getaffinity(0))
    for core in cores:
        with _one_core(core):
            blocks += asyncio.run(_blocks(max(_LEAST_BLOCKS, calls // _BLOCK // len(cores))))
    blocks.sort(key=lambda one: one.echo_s)
    counted = blocks[: max(1, int(len(blocks) * _COUNTED_SHARE))]
    counted.sort(key=lambda one: one.ratio)
    middle = counted[len(counted) // 2]
    return Row(
        "call round trip over a pty, p50",
        f"<= {BUDGET:g}x a bare echo",
        f"{middle.ratio:.2f}x ({middle.call_s * 1e6:.0f} us; {len(counted)} of {len(blocks)} blocks"
        f" of {_BLOCK}: {counted[0].ratio:.2f}-{counted[-1].ratio:.2f}x)",
        f"{middle.echo_s * 1e6:.0f} us (same bytes, interpreter and core, in turns)",
        middle.ratio <= BUDGET,
    )


@dataclass(frozen=True, slots=True)
class Block:
    """The medians of calls and echoes that took turns."""

    call_s: float
    echo_s: float

    @property
    def ratio(self) -> float:
        return self.call_s / self.echo_s


async def _blocks(count: int) -> list[Block]:
    payload = PINS["button"]
    with one_board() as board, _echoing() as path:
        echo = _Echo(await open_port(path, BAUD), _bytes_of_a_call(payload))
        async with connected(str(board.port)) as connection:

            async def call() -> None:
                await connection.call(Request(GPIO_READ, payload, _DEADLINE_MS))

            await _in_turns(call, echo.run, _WARM_UP)
            blocks = [await _in_turns(call, echo.run, _BLOCK) for _ in range(count)]
        await echo.port.aclose()
    return blocks


async def _in_turns(
    call: Callable[[], Awaitable[None]], echo: Callable[[], Awaitable[None]], times: int
) -> Block:
    taken_s: tuple[list[float], list[float]] = [], []
    for _ in range(times):
        for once, its_s in zip((call, echo), taken_s, strict=True):
            began_s = time.perf_counter()
            await once()
            its_s.append(time.perf_counter() - began_s)
    return Block(*map(statistics.median, taken_s))


class _Echo:
    """Sends the same bytes and waits until they are all back."""

    def __init__(self, port: SerialPort, data: bytes) -> None:
        self.port = port
        self._data = data
        self._left = 0
        self._back: asyncio.Future[None] | None = None
        port.start(self._on_bytes, lambda _reason: None)

    async def run(self) -> None:
        self._left = len(self._data)
        self._back = asyncio.get_running_loop().create_future()
        async with asyncio.timeout(_ANSWER_LIMIT_S):
            self.port.write(self._data)
            await self._back

    def _on_bytes(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left <= 0 and self._back is not None and not self._back.done():
            self._back.set_result(None)


def _bytes_of_a_call(arguments: bytes) -> bytes:
    payload = codec.struct.pack(codec.REQUEST_FORMAT, GPIO_READ, 513, _DEADLINE_MS) + arguments
    return encode(Frame(codec.REQUEST, 3, 2, 255, payload), 0xC0FFEE01)


@contextlib.contextmanager
def _one_core(core: int) -> Iterator[None]:
    """For this process and all that it starts meanwhile."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


@contextlib.contextmanager
def _echoing() -> Iterator[str]:
    near, far = pty.openpty()
    tty.setraw(far)
    os.set_blocking(near, False)
    with tempfile.TemporaryDirectory(prefix="barnacle-bench-") as name:
        program = Path(name) / "echo.py"
        program.write_text(_ECHO)
        command = [*interpreter.find(), str(program), str(near)]
        process = subprocess.Popen(command, pass_fds=(near,))
        os.close(near)
        try:
            yield os.ttyname(far)
        finally:
            process.kill()
            process.wait()
            os.close(far)
