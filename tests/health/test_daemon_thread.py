import asyncio
import threading

import pytest

from agent.health.daemon_thread import in_daemon_thread


async def test_the_result_comes_back() -> None:
    assert await in_daemon_thread(lambda: 42) == 42


async def test_an_error_comes_back() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await in_daemon_thread(fail)


async def test_hanging_work_does_not_hold_whoever_waits() -> None:
    hung = threading.Event()
    try:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await in_daemon_thread(hung.wait)
    finally:
        hung.set()


def test_hanging_work_does_not_hold_the_end_of_the_loop() -> None:
    hung = threading.Event()

    async def leave() -> None:
        async with asyncio.timeout(0.01):
            await in_daemon_thread(hung.wait)

    with pytest.raises(TimeoutError):
        asyncio.run(leave())
    hung.set()
