"""A TCP line in between that can be cut: at once, or before the next bytes that go out."""

import asyncio
import contextlib
from collections.abc import AsyncIterator


class CutLine:
    """Forwards to `port`; `own_port` is where it listens."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.own_port = 0
        self.cuts_next_bytes = False
        self._lines: set[asyncio.Task[None]] = set()

    def cut(self) -> None:
        for line in self._lines:
            line.cancel()

    async def forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = asyncio.current_task()
        assert line is not None
        self._lines.add(line)
        try:
            there, away = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            writer.transport.abort()
            self._lines.discard(line)
            return
        ways = [
            asyncio.ensure_future(self._pass_on(reader, away, is_outward=True)),
            asyncio.ensure_future(self._pass_on(there, writer, is_outward=False)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            for one in (writer, away):
                one.transport.abort()
            self._lines.discard(line)

    async def _pass_on(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, is_outward: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while piece := await source.read(65536):
                if is_outward and self.cuts_next_bytes:
                    self.cuts_next_bytes = False
                    return
                target.write(piece)
                await target.drain()


@contextlib.asynccontextmanager
async def running(port: int) -> AsyncIterator[CutLine]:
    line = CutLine(port)
    server = await asyncio.start_server(line.forward, "127.0.0.1", 0)
    line.own_port = server.sockets[0].getsockname()[1]
    try:
        yield line
    finally:
        server.close()
        line.cut()
