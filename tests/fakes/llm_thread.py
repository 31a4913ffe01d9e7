"""The scripted language model service in a thread, for tests that do not run an event loop."""

import asyncio
import threading
from typing import Self

from tests.fakes.llm_server import LlmServer, Reply, Respond, running
from tests.fakes.obedient_model import obey

# It only has to bind a port
START_LIMIT_S = 5.0


class LlmThread:
    """A model behind `server.base_url`, obedient unless it gives these answers in order.

    `server.requests` is what it was asked.
    """

    server: LlmServer

    def __init__(self, *script: Reply | Respond) -> None:
        self._script = script or (obey,)

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
        async with running(*self._script) as self.server:
            self._started.set()
            await self._over.wait()
