"""Between the agent and a real server: what goes wrong on the way."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

from tests.fakes.raw_server import stop_listening

End = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Pause = Callable[[], Awaitable[None]]

_PIECE_BYTES = 65_536


async def no_pause() -> None:
    """Hand each piece on at once."""


class Relay:
    """A cable that can be pulled: at once, or before the next bytes that the agent sends.

    Args:
        pause: comes before each piece, either way.
    """

    def __init__(self, port: int, pause: Pause = no_pause) -> None:
        self._target = port
        self._pause = pause
        self._server: asyncio.Server | None = None
        self._instead, self._before = b"", 0
        self._at_work: set[asyncio.Task[None]] = set()
        self.cuts_next_bytes = False
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        for task in self._at_work:
            task.cancel()

    def reach(self, port: int) -> None:
        """Lead the next connections to another server."""
        self._target = port

    def answer_next(self, words: bytes, *, after: int = 0) -> None:
        """The next connection gets these words instead of the server, and ends.

        Args:
            after: so many connections reach the server first.
        """
        self._instead, self._before = words, after

    async def stop(self) -> None:
        if self._server is not None:
            await stop_listening(self._server)
        self.cut()
        if self._at_work:
            await asyncio.wait(self._at_work)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)
        # A cancelled one would be an error to whoever called this, in Python 3.11
        with contextlib.suppress(OSError, asyncio.CancelledError), closing(writer):
            if self._instead and self._before == 0:
                writer.write(self._instead)
                self._instead = b""
                return
            self._before = max(self._before - 1, 0)
            far = await asyncio.open_connection("127.0.0.1", self._target)
            await pass_on((reader, writer), far, self._is_cut_now, self._pause)

    def _is_cut_now(self) -> bool:
        is_cut, self.cuts_next_bytes = self.cuts_next_bytes, False
        return is_cut


@contextlib.asynccontextmanager
async def running(port: int) -> AsyncIterator[Relay]:
    relay = Relay(port)
    await relay.start()
    try:
        yield relay
    finally:
        await relay.stop()


@contextlib.contextmanager
def closing(writer: asyncio.StreamWriter) -> Iterator[None]:
    """What was written still goes out, unless it ended by force."""
    try:
        yield
    except BaseException:
        writer.transport.abort()
        raise
    writer.close()


async def pass_on(
    near: End, far: End, is_cut: Callable[[], bool] = lambda: False, pause: Pause = no_pause
) -> None:
    """Until either ends; then both are ended. `is_cut`, asked before each piece of `near`'s."""
    with closing(near[1]), closing(far[1]):
        ways = [
            asyncio.ensure_future(_pump(near[0], far[1], is_cut, pause)),
            asyncio.ensure_future(_pump(far[0], near[1], lambda: False, pause)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()


async def _pump(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    is_cut: Callable[[], bool],
    pause: Pause,
) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(_PIECE_BYTES):
            await pause()
            if is_cut():
                return
            writer.write(piece)
            await writer.drain()
