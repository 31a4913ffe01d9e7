"""The pretended signal-cli daemon in a thread, for tests that do not run an event loop."""

import asyncio
import threading
from typing import Self

from tests.fakes.signal_daemon import SignalDaemon, running

# It only has to bind a port
START_LIMIT_S = 5.0


class SignalThread:
    """A daemon at `daemon.url`."""

    def __init__(self, daemon: SignalDaemon) -> None:
        self.daemon = daemon

    def __enter__(self) -> Self:
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        assert self._started.wait(START_LIMIT_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        async with running(self.daemon):
            self._started.set()
            await self._over.wait()
