import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.errors import StorageFull
from agent.storage.files import remove_stale_temps, replace_unsynced, write_atomic


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


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A file whose writer was killed in the middle."""
    path = tmp_path / "state.json"
    path.write_bytes(b"old")
    code = (
        "import os, pathlib, signal, sys\n"
        "from agent.storage.files import write_atomic\n"
        "os.fsync = lambda _handle: os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_atomic(pathlib.Path(sys.argv[1]), b'half')\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode < 0
    assert len(list(tmp_path.iterdir())) == 2
    return path


def test_two_writers_of_one_file_do_not_meet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, flush = tmp_path / "state.json", os.fsync

    def meanwhile(handle: int) -> None:
        monkeypatch.undo()
        write_atomic(path, b"theirs")
        replace_unsynced(path, b"theirs as well")
        # Nor does a start take it for a leftover
        assert remove_stale_temps(tmp_path) == 0
        flush(handle)

    monkeypatch.setattr(os, "fsync", meanwhile)
    write_atomic(path, b"ours")
    assert path.read_bytes() == b"ours"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("write", [write_atomic, replace_unsynced])
def test_the_next_write_removes_what_a_killed_one_left(
    killed: Path, write: Callable[[Path, bytes], None]
) -> None:
    others = killed.with_name("state.json.old.0badcafe.part")
    others.touch()
    write(killed, b"new")
    assert killed.read_bytes() == b"new"
    assert set(killed.parent.iterdir()) == {killed, others}


def test_a_start_removes_what_a_killed_writer_left(killed: Path) -> None:
    assert remove_stale_temps(killed.parent) == 1
    assert (killed.read_bytes(), list(killed.parent.iterdir())) == (b"old", [killed])


def test_left_over_parts_are_removed(tmp_path: Path) -> None:
    (tmp_path / "a.json.part").write_bytes(b"half")
    (tmp_path / "a.json").write_bytes(b"whole")
    assert remove_stale_temps(tmp_path) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
