"""How long a call takes, against a bare echo of the same bytes by the same interpreter."""

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
# Both take turns in blocks of this many, so that a slow moment of the machine meets both
_BLOCK = 100
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
    call_s, echo_s = asyncio.run(_both(calls))
    call_us, echo_us = (statistics.median(one) * 1e6 for one in (call_s, echo_s))
    ratio = call_us / echo_us
    return Row(
        "call round trip over a pty, p50",
        f"<= {BUDGET:g}x a bare echo",
        f"{ratio:.2f}x ({call_us:.0f} us, {len(call_s)} calls)",
        f"{echo_us:.0f} us (same bytes, same interpreter)",
        ratio <= BUDGET,
    )


async def _both(calls: int) -> tuple[list[float], list[float]]:
    payload = PINS["button"]
    call_s: list[float] = []
    echo_s: list[float] = []
    with one_board() as board, _echoing() as path:
        echo = _Echo(await open_port(path, BAUD), _bytes_of_a_call(payload))
        async with connected(str(board.port)) as connection:

            async def call() -> None:
                await connection.call(Request(GPIO_READ, payload, _DEADLINE_MS))

            await _block(call, _WARM_UP)
            await _block(echo.run, _WARM_UP)
            while len(call_s) < calls:
                call_s += await _block(call, _BLOCK)
                echo_s += await _block(echo.run, _BLOCK)
        await echo.port.aclose()
    return call_s, echo_s


async def _block(once: Callable[[], Awaitable[None]], times: int) -> list[float]:
    taken = []
    for _ in range(times):
        began_s = time.perf_counter()
        await once()
        taken.append(time.perf_counter() - began_s)
    return taken


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
