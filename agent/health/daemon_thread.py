"""Blocking work that must not hold the program when it hangs: a dead disk, a dead name server.

`asyncio.to_thread` joins its threads when the loop ends; these are left behind.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

R = TypeVar("R")


async def in_daemon_thread(work: Callable[[], R]) -> R:
    """Run `work` in a thread and return its result; after a cancel it runs on unheard."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[R] = loop.create_future()

    def settle(result: R | None, error: Exception | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)  # type: ignore[arg-type]  # R may itself be None
        else:
            future.set_exception(error)

    def run() -> None:
        try:
            outcome: tuple[R | None, Exception | None] = (work(), None)
        except Exception as err:  # noqa: BLE001  # handed to whoever awaits
            outcome = (None, err)
        # The loop may be gone by the time that a hanging call returns
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=run, daemon=True).start()
    return await future
