from pathlib import Path

from agent.backup.record import NAME, LastBackup, read_record, write_record
from agent.storage.lineage import Lineage, read_lineage, write_lineage


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_record(tmp_path) is None
    record = LastBackup(made_at_s=5.0, where="/media/usb", size_bytes=7)
    write_record(tmp_path, record)
    assert read_record(tmp_path) == record
    (tmp_path / NAME).write_text("half")
    assert read_record(tmp_path) is None


def test_an_epoch_is_kept(tmp_path: Path) -> None:
    assert read_lineage(tmp_path).epoch == 0
    write_lineage(tmp_path, Lineage("greenhouse", 3))
    assert read_lineage(tmp_path).epoch == 3
