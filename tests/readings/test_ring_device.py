"""A ring on a block device: a file of that size, and a loop device where one can be had."""

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from agent.readings.batch import Batch, in_order
from agent.readings.packing import DAY_MS, Retention
from agent.readings.ring import SLOT_BYTES
from agent.readings.ring_device import ring_on
from agent.readings.series import SeriesKind
from agent.readings.store import ReadingStore
from scripts.lib.bench.block_devices import missing, plain_device

BEGIN_MS = 20_880 * DAY_MS
ROOM = SeriesKind("room.temperature", "°C")
SIZE = 80 * SLOT_BYTES


@pytest.fixture(params=["file", "loop"])
def device(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    if request.param == "file":
        made = tmp_path / "device"
        # As somebody else has left it
        made.write_bytes(os.urandom(SIZE))
        yield made
        return
    if reason := missing():
        pytest.skip(f"a loop device {reason}")
    with ExitStack() as held:
        yield held.enter_context(plain_device(tmp_path, 1))


async def opened(folder: Path, device: Path | None) -> ReadingStore:
    store = ReadingStore(folder, Retention(), "boot", device=device)
    await store.open()
    return store


async def record(store: ReadingStore, first: int, count: int) -> None:
    """A value a minute, which is the number of the minute, each in a batch of its own."""
    series = await store.series(ROOM, 60)
    store.place(BEGIN_MS, is_sure=True)
    for minute in range(first, first + count):
        store.add(series, minute * 60.0, float(minute))
        await store.commit(BEGIN_MS + minute * 60_000)


async def kept(store: ReadingStore) -> list[float]:
    rows = await store.rows(await store.series(ROOM, 60), BEGIN_MS, BEGIN_MS + DAY_MS)
    return rows.means


async def test_batches_on_a_device_are_there_after_a_start(tmp_path: Path, device: Path) -> None:
    store = await opened(tmp_path / "state", device)
    await record(store, 0, 5)
    await store.aclose()
    assert not (tmp_path / "state/readings.ring").exists()
    again = await opened(tmp_path / "state", device)
    assert await kept(again) == [0, 1, 2, 3, 4]
    await again.aclose()


async def test_what_is_on_it_goes_round_and_nothing_is_lost(tmp_path: Path, device: Path) -> None:
    store = await opened(tmp_path / "state", device)
    await record(store, 0, 200)
    await store.aclose()
    again = await opened(tmp_path / "state", device)
    assert await kept(again) == list(range(200))
    await again.aclose()


async def test_batches_of_a_file_are_kept_where_a_device_comes_and_goes(
    tmp_path: Path, device: Path
) -> None:
    for life, place in enumerate((None, device, None, device)):
        store = await opened(tmp_path / "state", place)
        await record(store, life * 3, 3)
        await store.aclose()
    again = await opened(tmp_path / "state", device)
    assert await kept(again) == list(range(12))
    await again.aclose()


async def test_batches_of_another_store_are_none_of_ours(tmp_path: Path, device: Path) -> None:
    other = await opened(tmp_path / "other", device)
    await record(other, 0, 9)
    await other.aclose()
    store = await opened(tmp_path / "state", device)
    await record(store, 20, 2)
    await store.aclose()
    again = await opened(tmp_path / "state", device)
    assert await kept(again) == [20, 21]
    await again.aclose()


async def test_a_device_that_is_too_small_is_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    small = tmp_path / "small"
    small.write_bytes(bytes(2 * SLOT_BYTES))
    with caplog.at_level(logging.WARNING):
        store = await opened(tmp_path / "state", small)
    await record(store, 0, 2)
    await store.aclose()
    assert (tmp_path / "state/readings.ring").exists()
    assert small.read_bytes() == bytes(2 * SLOT_BYTES)
    assert "too small" in caplog.text


def test_no_device_is_no_ring_and_no_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert ring_on(tmp_path / "none", 1) is None
    assert not caplog.records


def test_batches_of_two_places_get_numbers_of_their_own() -> None:
    made = [Batch(number, "b", 0, is_sure=True) for number in (7, 5, 6, 6, 4, 8)]
    assert [one.number for one in in_order(made, 4)] == [5, 6, 7, 8, 9]
