from pathlib import Path

import pytest

from agent.errors import StorageFull
from agent.provision.firmware import Firmware


def test_a_text_has_the_line_ends_of_every_pc(tmp_path: Path) -> None:
    Firmware(tmp_path, is_mounted=False).write("note.txt", "one\ntwo\n")
    assert (tmp_path / "note.txt").read_bytes() == b"one\r\ntwo\r\n"


def test_the_same_text_is_not_written_again(tmp_path: Path) -> None:
    firmware = Firmware(tmp_path, is_mounted=False)
    firmware.write("note.txt", "one\n")
    before = (tmp_path / "note.txt").stat().st_ino
    firmware.write("note.txt", "one\n")
    assert (tmp_path / "note.txt").stat().st_ino == before
    firmware.remove("note.txt")
    firmware.remove("note.txt")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_made_writable_is_told(tmp_path: Path) -> None:
    firmware = Firmware(tmp_path / "no-mount")
    with pytest.raises(StorageFull, match="cannot be remounted"), firmware.writable():
        raise AssertionError("it is not writable")
