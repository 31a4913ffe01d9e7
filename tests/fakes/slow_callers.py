"""Callers that hold a connection as long as they are borne: each kind is slow in another way.

All of them come again when they are cut. Every loop ends with its time, and none pours more than
it says.
"""

import asyncio
import base64
import contextlib
import enum
import itertools
import socket
from dataclasses import dataclass

from tests.fakes.drip import drip

_HOST = b"host: 127.0.0.1\r\n"
_POST = b"POST /webhook HTTP/1.1\r\n" + _HOST
# What a webhook's headers have to be before anybody waits for a body
_SIGNED = b"webhook-id: m1\r\nwebhook-timestamp: %d\r\nwebhook-signature: v1,%s\r\n"
_DRIP_S = 0.5
# One who comes again at once is as quick as a person's program that tries again
_AGAIN_S = 0.05
_RENEWED_S = 5.0
# Of a connection that the other side has ended
_HELD_S = 1.0
_SMALL_BUFFER_BYTES = 2048


class Slowness(enum.Enum):
    """How a caller holds a connection."""

    HEADER = "a header that comes byte by byte"
    BODY = "a body that comes byte by byte"
    CHUNKS = "chunks of one byte"
    SILENT = "a connection on which nothing is said"
    HALF = "half a request, and then its end"
    KEPT = "a whole request, and then nothing more"
    UNREAD = "an answer that nobody reads"
    RENEWED = "a body that does not come, renewed every 5 s"


@dataclass
class SlowCrowd:
    """Many of all kinds, for some seconds.

    Args:
        signed_at_s: a time that the webhook's headers may say.
        sources: addresses of this machine that they come from, in turns.
    """

    port: int
    count: int
    until_s: float
    signed_at_s: int
    sources: tuple[str, ...] = ("127.0.0.1",)
    kinds: tuple[Slowness, ...] = tuple(Slowness)
    connections: int = 0
    open: int = 0

    async def run(self) -> None:
        """Hold on until the time is over."""
        loop = asyncio.get_running_loop()
        self.until_s += loop.time()
        kinds = itertools.cycle(self.kinds)
        await asyncio.gather(
            *(self._come_again(next(kinds), number) for number in range(self.count))
        )

    async def _come_again(self, kind: Slowness, number: int) -> None:
        loop = asyncio.get_running_loop()
        while loop.time() < self.until_s:
            with contextlib.suppress(ConnectionError, TimeoutError, OSError):
                async with asyncio.timeout_at(self.until_s):
                    await self._hold(kind, self.sources[number % len(self.sources)])
            await asyncio.sleep(_AGAIN_S)

    async def _hold(self, kind: Slowness, source: str) -> None:
        made = socket.socket()
        if kind is Slowness.UNREAD:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL_BUFFER_BYTES)
        made.settimeout(0)
        made.bind((source, 0))
        try:
            await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", self.port))
        except BaseException:
            made.close()
            raise
        reader, writer = await asyncio.open_connection(sock=made, limit=_SMALL_BUFFER_BYTES)
        self.connections += 1
        self.open += 1
        try:
            await self._be_slow(kind, reader, writer)
        finally:
            self.open -= 1
            writer.transport.abort()

    async def _be_slow(
        self, kind: Slowness, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        signed = _SIGNED % (self.signed_at_s, base64.b64encode(bytes(32)))
        match kind:
            case Slowness.HEADER:
                writer.write(b"GET /health HTTP/1.1\r\n" + _HOST + b"x-slow: ")
                await self._drip(reader, writer, b"a")
            case Slowness.BODY:
                writer.write(_POST + signed + b"content-length: 100000\r\n\r\n")
                await self._drip(reader, writer, b"a")
            case Slowness.CHUNKS:
                writer.write(_POST + signed + b"transfer-encoding: chunked\r\n\r\n")
                await self._drip(reader, writer, b"1\r\na\r\n")
            case Slowness.HALF:
                writer.write(_POST + signed + b"content-length: 9\r\n\r\nabc")
                writer.write_eof()
                await reader.read()
                await asyncio.sleep(_HELD_S)
            case Slowness.KEPT:
                writer.write(
                    b"GET /health HTTP/1.1\r\n" + _HOST + b"connection: keep-alive\r\n\r\n"
                )
                await asyncio.sleep(_RENEWED_S)
            case Slowness.UNREAD:
                writer.write(b"GET /metrics HTTP/1.1\r\n" + _HOST + b"\r\n")
                # Nothing is read: the buffer is full, and the answer waits in the gateway
                await asyncio.sleep(_RENEWED_S)
            case Slowness.SILENT:
                await reader.read()
            case Slowness.RENEWED:
                writer.write(b"POST /pair HTTP/1.1\r\n" + _HOST + b"content-length: 50\r\n\r\n{")
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_RENEWED_S):
                        await reader.read()

    async def _drip(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, drop: bytes
    ) -> None:
        await drip(writer, drop, _DRIP_S, reader.at_eof)
