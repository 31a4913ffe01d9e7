"""A frame that is cut after k bytes, for every k and in both directions; then a new connection."""

import asyncio
import contextlib

from agent.errors import LinkError
from agent.link import frame as codec
from agent.link.connection import BoardConnection
from agent.link.port import OnBytes, OnLost, SerialPort, open_port
from agent.link.session import Request
from agent.system.clock import SystemClock
from scripts.lib.bench.boards import BAUD, GPIO_READ, GPIO_WRITE, PINS, connected, one_board
from scripts.lib.bench.table import Row

_DEADLINE_MS = 500
_HEAD_BYTES = 5
_OVERHEAD_BYTES = codec.WIRE_LIMIT_BYTES - codec.PAYLOAD_LIMIT_BYTES
_ON = PINS["pump"] + b"\x01"
# What follows the arguments is ignored: the longest request that there can be
_LONG = _ON.ljust(codec.PAYLOAD_LIMIT_BYTES - _HEAD_BYTES, b"\x55")
_ANSWER_BYTES = _OVERHEAD_BYTES + 4


def measure(*, quick: bool) -> Row:
    """The row of the cuts."""
    with one_board() as board:
        done, failed = asyncio.run(_all(str(board.port), step=8 if quick else 1))
    return Row(
        "a frame cut after k bytes, for every k, then reconnect",
        "next call succeeds",
        f"{done - failed} of {done} cuts: {_size(_ON)} and {_size(_LONG)} bytes, and the answer",
        "no cut: succeeds",
        failed == 0,
    )


def _size(arguments: bytes) -> int:
    return _HEAD_BYTES + len(arguments) + _OVERHEAD_BYTES


async def _all(path: str, step: int) -> tuple[int, int]:
    cuts = [(_ON, sent, None) for sent in range(_size(_ON) + 1)]
    cuts += [(_LONG, sent, None) for sent in range(0, _size(_LONG) + 1, step)]
    cuts += [(_ON, None, heard) for heard in range(_ANSWER_BYTES + 1)]
    failed = 0
    await _next_call(path)
    for arguments, sent, heard in cuts:
        await _cut(path, arguments, sent, heard)
        failed += not await _next_call(path)
    return len(cuts), failed


async def _cut(path: str, arguments: bytes, sent: int | None, heard: int | None) -> None:
    port = _CutPort(await open_port(path, BAUD))
    async with BoardConnection(port, SystemClock()) as connection:
        await connection.greet()
        port.sent_left, port.heard_left = sent, heard
        with contextlib.suppress(LinkError):
            await connection.call(Request(GPIO_WRITE, arguments, _DEADLINE_MS))


async def _next_call(path: str) -> bool:
    try:
        async with connected(path) as connection:
            return await connection.call(Request(GPIO_READ, PINS["led"], _DEADLINE_MS)) == b"\0"
    except LinkError:
        return False


class _CutPort:
    """Carries so many more bytes in a direction, and then the cable is out; None is no limit."""

    def __init__(self, inner: SerialPort) -> None:
        self.path = inner.path
        self.rates = inner.rates
        self.sent_left: int | None = None
        self.heard_left: int | None = None
        self._inner = inner
        self._on_bytes: OnBytes = lambda _data: None
        self._on_lost: OnLost = lambda _reason: None

    def start(self, on_bytes: OnBytes, on_lost: OnLost) -> None:
        self._on_bytes, self._on_lost = on_bytes, on_lost
        self._inner.start(self._hear, on_lost)

    def write(self, data: bytes) -> None:
        if self.sent_left is None:
            self._inner.write(data)
            return
        self._inner.write(data[: self.sent_left])
        self.sent_left = 0
        asyncio.get_running_loop().call_soon(self._on_lost, "unplugged")

    def _hear(self, data: bytes) -> None:
        if self.heard_left is None:
            self._on_bytes(data)
            return
        piece, self.heard_left = data[: self.heard_left], max(0, self.heard_left - len(data))
        if piece:
            self._on_bytes(piece)
        if self.heard_left == 0:
            self._on_lost("unplugged")

    def set_baud(self, baud: int) -> None:
        self._inner.set_baud(baud)

    async def aclose(self) -> None:
        await self._inner.aclose()
