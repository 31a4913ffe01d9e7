import mmap
from pathlib import Path

import pytest

from agent.system import pages

_BYTES = 64 * mmap.PAGESIZE


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "weights"
    made.write_bytes(b"w" * _BYTES)
    return made


def test_what_was_read_of_a_file_goes_back_and_is_read_again(file: Path) -> None:
    with file.open("rb") as opened, _mapped(opened.fileno()) as shown:
        assert bytes(shown) == file.read_bytes()
        assert _read_bytes(file) == _BYTES
        for piece in pages.unwritten(file):
            piece.give_back()
        assert _read_bytes(file) == 0
        assert bytes(shown) == file.read_bytes()


def test_what_was_written_to_a_mapped_file_stays(file: Path) -> None:
    with file.open("rb") as opened, _mapped(opened.fileno()) as shown:
        shown[mmap.PAGESIZE] = ord("x")
        for piece in pages.unwritten(file):
            piece.give_back()
        pages.give_back()
        assert shown[mmap.PAGESIZE] == ord("x")


def test_a_file_that_may_be_written_is_given_back_only_by_its_name(file: Path) -> None:
    with file.open("rb") as opened, _mapped(opened.fileno()) as shown:
        assert bytes(shown) == file.read_bytes()
        pages.give_back()
        assert _read_bytes(file) == _BYTES


def test_libraries_go_on_working_without_the_pages_that_loaded_them() -> None:
    before = sum(piece.length_bytes for piece in pages.unwritten())
    pages.give_back()
    assert before > 0
    assert sorted([3, 1, 2]) == [1, 2, 3]


def test_without_proc_everything_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_SMAPS", tmp_path / "missing")
    assert pages.unwritten() == ()
    pages.give_back()


def _mapped(number: int) -> mmap.mmap:
    """Map a file so that what is written goes nowhere else."""
    return mmap.mmap(number, _BYTES, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)


def _read_bytes(path: Path) -> int:
    """Return how much of a mapped file this process has in memory."""
    [told] = [
        told
        for told in Path("/proc/self/smaps").read_text().split("VmFlags:")
        if f"{path.resolve()}\n" in told
    ]
    return int(told.split("\nRss:")[1].split()[0]) * 1024
