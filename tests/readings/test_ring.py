import os
from pathlib import Path

import pytest

from agent.errors import StorageFull
from agent.readings.batch import EARLIEST_MS, Batch, offsets, placed
from agent.readings.ring import SECTOR_BYTES, SLOT_BYTES, Ring

SLOTS = 16
NOW_MS = 1_800_000_000_000


def batch(number: int, count: int = 10, boot: str = "b", offset_ms: int = NOW_MS) -> Batch:
    made = Batch(number, boot, offset_ms, is_sure=True)
    for at in range(count):
        made.add(1, number * 600_000 + at * 60_000, 20.5 + at * 0.1)
        made.add(2, number * 600_000 + at * 60_000, float(at % 2))
    return made


def test_a_written_batch_is_read_back(tmp_path: Path) -> None:
    ring = Ring(tmp_path / "ring", SLOTS)
    written = [batch(number) for number in range(1, 4)]
    for one in written:
        assert ring.write(one) == [one]
    assert Ring(tmp_path / "ring", SLOTS).read() == written


def test_a_commit_writes_one_sector(tmp_path: Path) -> None:
    path = tmp_path / "ring"
    ring = Ring(path, SLOTS)
    ring.write(batch(1))
    # As an earlier round has left it
    path.write_bytes(b"\xff" * (SLOTS * SLOT_BYTES))
    before = path.read_bytes()
    ring.write(batch(2))
    after = path.read_bytes()
    changed = {at // SECTOR_BYTES for at in range(len(before)) if before[at] != after[at]}
    assert (len(before), changed) == (len(after), {2 * SLOT_BYTES // SECTOR_BYTES})


def test_a_large_batch_takes_several_slots_and_loses_nothing(tmp_path: Path) -> None:
    ring = Ring(tmp_path / "ring", SLOTS)
    large = Batch(3, "b", NOW_MS, is_sure=True)
    for at in range(4000):
        large.add(at % 3, at * 1000, at * 0.317)
    parts = ring.write(large)
    assert len(parts) > 1
    back = ring.read()
    known = offsets(back)
    for series_id in range(3):
        assert placed(back, known, series_id) == placed([large], offsets([large]), series_id)


@pytest.mark.parametrize("cut", [0, 1, 200, SLOT_BYTES - 1])
def test_a_torn_slot_costs_its_own_batch_alone(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "ring"
    ring = Ring(path, SLOTS)
    for number in (1, 2):
        ring.write(batch(number, count=200))
    data = bytearray(path.read_bytes())
    begin = 2 * SLOT_BYTES + cut
    data[begin : 3 * SLOT_BYTES] = os.urandom(3 * SLOT_BYTES - begin)
    path.write_bytes(data)
    numbers = [one.number for one in ring.read()]
    # A tear behind the content of a slot harms nothing
    assert numbers in ([1], [1, 2])
    assert cut > 200 or numbers == [1]


def test_an_unreadable_place_is_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "ring").mkdir()
    with pytest.raises(StorageFull):
        Ring(tmp_path / "ring", SLOTS).write(batch(1))


def test_what_an_unset_clock_recorded_is_placed_when_the_time_is_known() -> None:
    early = Batch(1, "b", 5, is_sure=False)
    early.add(1, 60_000, 21.0)
    assert offsets([early]) == {}
    later = batch(2)
    known = offsets([early, later])
    assert placed([early, later], known, 1)[0][0] == 60_000 + NOW_MS


def test_another_start_of_the_machine_says_nothing_of_the_time_of_this_one() -> None:
    early = Batch(1, "before", 5, is_sure=False)
    assert offsets([early, batch(2)]) == {2: NOW_MS}


def test_a_clock_that_is_not_sure_is_better_than_none() -> None:
    early = Batch(1, "b", EARLIEST_MS, is_sure=False)
    assert offsets([early]) == {1: EARLIEST_MS}


def test_a_card_that_cannot_be_read_is_told_as_one_that_fails(tmp_path: Path) -> None:
    # Reading its first page is an error of the device
    (tmp_path / "readings.ring").symlink_to("/proc/self/mem")
    with pytest.raises(StorageFull, match="not read"):
        Ring(tmp_path / "readings.ring").read()
