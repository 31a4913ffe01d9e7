import errno
import os
from pathlib import Path

import pytest

from agent.errors import StorageFull
from agent.storage.files import remove_stale_temps, write_atomic


def test_a_file_is_written_with_its_folder_and_closed_to_others(tmp_path: Path) -> None:
    path = tmp_path / "new" / "state.json"
    write_atomic(path, b"one")
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("operation", ["open", "fsync"])
def test_without_room_the_old_content_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str, code: int
) -> None:
    path = tmp_path / "state.json"
    write_atomic(path, b"old")

    def fail(*_args: object, **_kwargs: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, operation, fail)
    with pytest.raises(StorageFull):
        write_atomic(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_another_fault_is_raised_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "state.json"
    folder.mkdir()
    with pytest.raises(IsADirectoryError):
        write_atomic(folder, b"x")


def test_left_over_parts_are_removed(tmp_path: Path) -> None:
    (tmp_path / "a.json.part").write_bytes(b"half")
    (tmp_path / "a.json").write_bytes(b"whole")
    assert remove_stale_temps(tmp_path) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
