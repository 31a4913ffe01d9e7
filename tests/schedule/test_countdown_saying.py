"""What happens to timers while the end of one of them is still being said."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent.errors import StorageFull
from agent.providers.offline.timer_words import SpokenTimers
from agent.schedule.countdown import Outlet
from agent.schedule.job import Job
from agent.tools.timer import TimerCancelArguments, TimerChangeArguments, TimerStartArguments
from tests.fakes.timer_run import TimerRun, context


@pytest.fixture
def run(tmp_path: Path) -> TimerRun:
    return TimerRun(tmp_path)


@asynccontextmanager
async def saying(run: TimerRun) -> AsyncIterator[None]:
    """End the timers that are due; their platform takes what is said only afterwards."""
    begun, over = asyncio.Event(), asyncio.Event()

    async def slowly(job: Job) -> str:
        begun.set()
        await over.wait()
        return await run._perform(job)

    async with asyncio.TaskGroup() as tasks:
        await run.countdown.look(Outlet(slowly, run._tell, SpokenTimers), tasks)
        await begun.wait()
        yield
        over.set()


async def test_a_new_timer_is_not_taken_for_one_that_was_cancelled_as_it_ended(
    run: TimerRun,
) -> None:
    await run.book.start(TimerStartArguments(60, "tea"), context())
    await run.clock.sleep(60)
    async with saying(run):
        await run.book.cancel(TimerCancelArguments(), context())
        await run.book.start(TimerStartArguments(300, "eggs"), context())
    assert [one.name for one in run.store.every()] == ["eggs"]
    await run.go(310)
    assert run.said[1:] == ["Your timer “eggs” (5 min) has ended."]


async def test_time_that_is_added_to_one_that_ends_is_not_lost(run: TimerRun) -> None:
    await run.book.start(TimerStartArguments(60, "tea"), context())
    await run.clock.sleep(60)
    async with saying(run):
        changed = await run.book.change(TimerChangeArguments(add_seconds=120), context())
    assert changed["left_seconds"] == 120
    await run.go(130)
    assert len(run.said) == 2
    assert run.store.every() == []


async def test_a_new_timer_ends_after_one_that_could_not_be_removed(
    run: TimerRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_number: int) -> bool:
        raise StorageFull("the disk is full")

    await run.book.start(TimerStartArguments(60, "tea"), context())
    with monkeypatch.context() as patched:
        patched.setattr(run.store, "remove", full)
        await run.go(90)
    await run.book.cancel(TimerCancelArguments(), context())
    await run.book.start(TimerStartArguments(60, "eggs"), context())
    await run.go(70)
    assert run.said[1:] == ["Your timer “eggs” (1 min) has ended."]
