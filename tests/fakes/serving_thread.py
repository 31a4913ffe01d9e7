"""A pretended service in a thread, for tests that do not run an event loop."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, Self, TypeVar

# It only has to bind a port
START_LIMIT_S = 20.0

T = TypeVar("T")


class ServingThread(Generic[T]):
    """Runs what is opened within an event loop of its own; `served` is what that gave."""

    served: T

    def __init__(self, opened: AbstractAsyncContextManager[T]) -> None:
        self._opened = opened

    def __enter__(self) -> Self:
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        assert self._started.wait(START_LIMIT_S)
        return self

    def __exit__(self, *_: object) -> None:
        self.call(self._over.set)
        self._thread.join()

    def call(self, function: Callable[[], object]) -> None:
        """Have the function called within that loop."""
        self.loop.call_soon_threadsafe(function)

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        async with self._opened as self.served:
            self._started.set()
            await self._over.wait()
