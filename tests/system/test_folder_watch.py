"""A watch ends a wait when something changes; where the kernel tells nothing it is a pause."""

import asyncio
import shutil
from pathlib import Path

import pytest

from agent.system.clock import SystemClock
from agent.system.folder_watch import WATCHED_S, FolderWatch
from tests.fakes.clock import SteppedClock
from tests.fakes.watches import no_watches_left

# Of a wait that nothing else ends: the test would fail by its own limit before
LONG_S = 3600.0
PAUSE_S = 0.25


async def opened(folder: Path) -> FolderWatch:
    """A watch after its first wait, which opens it and tells to look once."""
    watch = FolderWatch(folder, SystemClock(), PAUSE_S)
    await watch.wait(LONG_S)
    return watch


@pytest.mark.parametrize("change", ["appears", "goes", "is replaced", "changes its rights"])
async def test_a_change_ends_the_wait(tmp_path: Path, change: str) -> None:
    name = tmp_path / "name"
    if change != "appears":
        name.touch()
    other = tmp_path / "other"
    other.touch()
    watch = await opened(tmp_path)
    waiting = asyncio.ensure_future(watch.wait(LONG_S))
    await asyncio.sleep(0)
    assert not waiting.done()
    if change == "appears":
        name.touch()
    elif change == "goes":
        name.unlink()
    elif change == "is replaced":
        other.rename(name)
    else:
        name.chmod(0o600)
    await waiting
    watch.close()


async def test_a_change_between_two_waits_is_not_lost(tmp_path: Path) -> None:
    watch = await opened(tmp_path)
    (tmp_path / "name").touch()
    assert await watch.wait(LONG_S)
    watch.close()


async def test_what_is_written_into_a_file_wakes_nobody(tmp_path: Path) -> None:
    name = tmp_path / "name"
    name.touch()
    watch = await opened(tmp_path)
    name.write_text("more")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(PAUSE_S):
            await watch.wait(LONG_S)
    watch.close()


async def test_without_a_change_the_time_ends_it(tmp_path: Path) -> None:
    clock = SteppedClock()
    watch = FolderWatch(tmp_path, clock, PAUSE_S)
    assert await watch.wait()
    assert not await watch.wait()
    assert clock.slept_s == [WATCHED_S]
    watch.close()


async def test_a_folder_that_is_not_there_is_looked_for_and_watched_when_it_comes(
    tmp_path: Path,
) -> None:
    clock = SteppedClock()
    watch = FolderWatch(tmp_path / "later", clock, PAUSE_S)
    await watch.wait()
    assert clock.slept_s == [PAUSE_S]
    (tmp_path / "later").mkdir()
    await watch.wait()
    await watch.wait()
    # On to a moment that other looks share
    assert clock.slept_s == [PAUSE_S, WATCHED_S - PAUSE_S]
    watch.close()


async def test_a_folder_that_goes_is_looked_for_again(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    watch = await opened(folder)
    shutil.rmtree(folder)
    await watch.wait(LONG_S)
    async with asyncio.timeout(LONG_S):
        # A short pause: it is watched no more
        await watch.wait(LONG_S)
    watch.close()


async def test_without_a_watch_every_wait_is_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_watches_left(monkeypatch)
    clock = SteppedClock()
    watch = FolderWatch(tmp_path, clock, PAUSE_S)
    for _ in range(3):
        await watch.wait()
    assert clock.slept_s == [PAUSE_S] * 3
    watch.close()


@pytest.mark.parametrize("begun", ["before", "after"])
async def test_a_change_in_a_folder_beneath_ends_the_wait(tmp_path: Path, begun: str) -> None:
    beneath = tmp_path / "beneath"
    if begun == "before":
        beneath.mkdir()
    watch = FolderWatch(tmp_path, SystemClock(), PAUSE_S, also_beneath=True)
    await watch.wait(LONG_S)
    if begun == "after":
        beneath.mkdir()
        assert await watch.wait(LONG_S)
        # It is watched from now on
        assert await watch.wait(LONG_S)
    (beneath / "name").touch()
    assert await watch.wait(LONG_S)
    watch.close()
