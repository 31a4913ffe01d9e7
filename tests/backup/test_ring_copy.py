from pathlib import Path

from agent.backup.ring_copy import copy_ring
from agent.readings import packing
from agent.readings.batch import Batch
from agent.readings.ring import SLOT_BYTES, Ring
from agent.storage.database import open_database


def test_the_batches_of_a_device_become_a_file(tmp_path: Path) -> None:
    database = open_database(tmp_path / "readings.db", packing.MIGRATIONS)
    mark = packing.read_state(database).mark
    database.close()
    device = tmp_path / "device"
    device.write_bytes(bytes(320 * SLOT_BYTES))
    for number in (5, 6):
        batch = Batch(number, "boot", 0, is_sure=False)
        batch.add(1, 1000, 20.0 + number)
        Ring(device, mark=mark).write(batch)
    assert copy_ring(tmp_path, tmp_path / "copy", device)
    assert [batch.number for batch in Ring(tmp_path / "copy", 640).read()] == [5, 6]


def test_without_a_device_the_file_is_copied_as_any_other(tmp_path: Path) -> None:
    assert not copy_ring(tmp_path, tmp_path / "copy", tmp_path / "none")
