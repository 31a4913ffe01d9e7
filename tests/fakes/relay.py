"""Between the agent and a real server: what goes wrong on the way."""

import asyncio
import contextlib


class Relay:
    """A cable that can be pulled."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._instead = b""
        self._at_work: set[asyncio.Task[None]] = set()
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    def answer_next(self, words: bytes) -> None:
        """The next connection gets these words instead of the server, and ends."""
        self._instead = words

    async def stop(self) -> None:
        self.cut()
        if self._server is not None:
            self._server.close()
        if self._at_work:
            await asyncio.wait(self._at_work)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)
        if self._instead:
            writer.write(self._instead)
            self._instead = b""
            writer.close()
            return
        with contextlib.suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
            self._open |= {writer, far_writer}
            async with asyncio.TaskGroup() as group:
                group.create_task(_pump(reader, far_writer))
                group.create_task(_pump(far_reader, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(4096):
            writer.write(piece)
            await writer.drain()
    writer.close()
