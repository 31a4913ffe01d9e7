"""The server under callers of every slow kind: who asks properly is answered."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.gateway import Listening, listening
from tests.fakes.slow_callers import SlowCrowd, Slowness
from tests.waits import wait_until

CALLERS = 200
HELD_S = 10.0
# A bound for a busy machine; how long it takes is measured by scripts/bench-gateway
ANSWERED_WITHIN_S = 5.0


@contextlib.asynccontextmanager
async def crowded(
    gateway: Listening, *kinds: Slowness, count: int = CALLERS
) -> AsyncIterator[SlowCrowd]:
    crowd = SlowCrowd(gateway.port, count, HELD_S, int(time.time()), kinds=kinds or tuple(Slowness))
    task = asyncio.ensure_future(crowd.run())
    await wait_until(lambda: crowd.connections >= count)
    try:
        yield crowd
    finally:
        task.cancel()
        await asyncio.wait({task})


@pytest.mark.parametrize("kind", [None, *Slowness], ids=lambda kind: kind.name if kind else "ALL")
async def test_an_honest_caller_is_answered_among_200_slow_ones(
    kind: Slowness | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kinds = [kind] if kind else []
    async with listening(tmp_path) as gateway, crowded(gateway, *kinds) as crowd:
        answered = 0
        for _ in range(20):
            begun_s = time.monotonic()
            answered += (await gateway.ask("GET", "/health")).status == 200
            assert time.monotonic() - begun_s < ANSWERED_WITHIN_S
            await asyncio.sleep(0.2 if kind is None else 0.1)
        assert crowd.connections >= CALLERS
        assert answered == 20
        assert (await gateway.say("hello", "m1")).status == 200
    assert [one for one in caplog.records if one.levelno >= logging.WARNING] == []


async def test_an_end_among_unfinished_bodies_says_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kinds = (Slowness.RENEWED, Slowness.CHUNKS)
    async with listening(tmp_path) as gateway, crowded(gateway, *kinds, count=64):
        begun_s = time.monotonic()
        gateway.end()
        await gateway.ended()
        # Nobody waits for what has not been said
        assert time.monotonic() - begun_s < 1.0
    assert [one for one in caplog.records if one.levelno >= logging.WARNING] == []
