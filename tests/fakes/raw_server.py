"""A server on loopback that does with each connection what a test wants, and leaves none open."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

# Of the loop, from a connection that is taken to the task that serves it
_PASSES = 3

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def serving(
    serve: Serve, port: int = 0, context: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """Its address as a URL without a path."""
    tasks: set[asyncio.Task[None]] = set()

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await serve(reader, writer)
        writer.close()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def ended(task: asyncio.Task[None]) -> None:
            tasks.discard(task)
            # A task that is cancelled before its first step has closed nothing
            if not writer.is_closing():
                writer.transport.abort()

        task = asyncio.create_task(run(reader, writer))
        tasks.add(task)
        task.add_done_callback(ended)

    listener = await asyncio.start_server(connected, "127.0.0.1", port, ssl=context)
    try:
        yield f"http{'s' if context else ''}://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    finally:
        await stop_listening(listener)
        left = [*tasks]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        # A transport lets go of its socket in the loop's next pass
        await asyncio.sleep(0)


async def stop_listening(listener: asyncio.Server) -> None:
    """Close it when what it has accepted is being served.

    A connection that Python accepts in the loop's pass before `close` is made in the one after,
    fails there with nothing said, and leaves its socket to the garbage collector.
    """
    loop = asyncio.get_running_loop()
    for one in listener.sockets:
        loop.remove_reader(one)
    for _ in range(_PASSES):
        await asyncio.sleep(0)
    listener.close()
