import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.readings import ring
from agent.readings.ring import PAGE_BYTES, SECTOR_BYTES, SectorFile

SIZE = 4 * PAGE_BYTES


@pytest.fixture(params=["disk", "memory"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A file on the disk, and one of a file system that may have no way past its cache."""
    if request.param == "disk":
        yield tmp_path / "file"
        return
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no file system in memory here")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        yield Path(name) / "file"


@pytest.mark.parametrize("length", [1, SECTOR_BYTES, SECTOR_BYTES + 1, PAGE_BYTES])
def test_what_is_written_is_read_back(path: Path, length: int) -> None:
    piece = os.urandom(length)
    SectorFile(path).write([(PAGE_BYTES, piece), (0, b"first")], SIZE)
    content = path.read_bytes()
    assert len(content) == SIZE
    assert content[PAGE_BYTES : PAGE_BYTES + length] == piece
    assert content[:5] == b"first"


def only_writes_of(smallest: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Refuse direct writes of less, as a disk of larger sectors does; return what was written."""
    real, written = ring._write_direct, list[int]()

    def choosy(path: Path, place: int, data: bytes) -> None:
        if len(data) % smallest:
            raise OSError(errno.EINVAL, "not a whole sector")
        written.append(len(data))
        real(path, place, data)

    monkeypatch.setattr(ring, "_write_direct", choosy)
    return written


def test_a_disk_of_large_sectors_gets_large_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = only_writes_of(PAGE_BYTES, monkeypatch)
    file = SectorFile(tmp_path / "file")
    for place in (0, PAGE_BYTES):
        file.write([(place, b"piece")], SIZE)
    assert (tmp_path / "file").read_bytes()[PAGE_BYTES : PAGE_BYTES + 5] == b"piece"
    assert written == [PAGE_BYTES, PAGE_BYTES]


def test_a_file_system_without_direct_writes_gets_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = only_writes_of(2 * PAGE_BYTES, monkeypatch)
    SectorFile(tmp_path / "file").write([(PAGE_BYTES, b"piece")], SIZE)
    assert (tmp_path / "file").read_bytes()[PAGE_BYTES : PAGE_BYTES + 5] == b"piece"
    assert written == []


def test_a_failing_disk_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="directory"):
        SectorFile(tmp_path / "file").write([(0, b"piece")], SIZE)


def test_the_name_of_a_new_file_is_flushed_before_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    fsync = os.fsync

    def noted(handle: int) -> None:
        fsync(handle)
        flushed.append(os.fstat(handle).st_ino)

    monkeypatch.setattr("os.fsync", noted)
    file = SectorFile(tmp_path / "file")
    file.write([(0, b"first")], SIZE)
    assert flushed[0] == tmp_path.stat().st_ino
    flushed.clear()
    file.write([(0, b"second")], SIZE)
    assert flushed == []
