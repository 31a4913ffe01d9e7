import errno
import os
from pathlib import Path

import pytest

from agent.errors import StorageFull
from agent.memory import generations
from agent.memory.base import MemoryEntry, Scope
from agent.memory.generations import KEY_NAME, NAME, SEALS_NAME, Generations, WrittenSnapshot
from agent.messages import Provenance

LOCK_NAME = f"{NAME}.lock"


def entry(number: int, content: str = "content") -> MemoryEntry:
    return MemoryEntry(
        number, f"k{number}", content, "core", Provenance.OWNER, Scope("owner"), 1.0, 1.0
    )


def write(folder: Path, made: list[MemoryEntry]) -> WrittenSnapshot:
    draft = Generations(folder).begin()
    try:
        draft.add(made)
        return draft.finish()
    finally:
        draft.discard()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_was_written_is_whole_and_only_for_the_agents_user(tmp_path: Path) -> None:
    written = write(tmp_path / "memory", [entry(1), entry(2)])
    [found] = Generations(tmp_path / "memory").every()
    assert (found.path, found.count, found.digest) == (written.path, 2, written.digest)
    assert found.is_whole()
    assert list(found.entries()) == [entry(1), entry(2)]
    assert found.path.stat().st_mode & 0o077 == 0
    assert names(tmp_path / "memory") == [NAME, LOCK_NAME, KEY_NAME, SEALS_NAME]


def test_the_last_three_are_kept_the_newest_first(tmp_path: Path) -> None:
    for number in range(1, 6):
        write(tmp_path, [entry(number)])
    kept = Generations(tmp_path).every()
    assert [next(iter(one.entries())) for one in kept] == [entry(5), entry(4), entry(3)]
    assert names(tmp_path) == [
        "MEMORY_SNAPSHOT.1.md",
        "MEMORY_SNAPSHOT.2.md",
        "MEMORY_SNAPSHOT.md",
        *(LOCK_NAME, KEY_NAME, SEALS_NAME),
    ]


def test_nothing_is_written_over_when_nothing_has_changed(tmp_path: Path) -> None:
    write(tmp_path, [entry(1)])
    write(tmp_path, [entry(2)])
    before = [(path, path.stat().st_mtime_ns) for path in sorted(tmp_path.iterdir())]
    write(tmp_path, [entry(2)])
    assert [(path, path.stat().st_mtime_ns) for path in sorted(tmp_path.iterdir())] == before


def test_a_damaged_one_is_not_whole_and_not_kept_as_if_it_were(tmp_path: Path) -> None:
    written = write(tmp_path, [entry(number, "x" * 500) for number in range(300)])
    whole = written.path.read_bytes()
    for place in (0, 100, len(whole) // 2, len(whole) - 300):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        written.path.write_bytes(damaged)
        [found] = Generations(tmp_path).every()
        assert not found.is_whole()
    write(tmp_path, [entry(number, "x" * 500) for number in range(300)])
    assert Generations(tmp_path).every()[0].is_whole()


@pytest.mark.parametrize("length", [0, 1, 50, 400])
def test_one_that_was_cut_is_none(tmp_path: Path, length: int) -> None:
    written = write(tmp_path, [entry(1)])
    written.path.write_bytes(written.path.read_bytes()[:length])
    assert Generations(tmp_path).every() == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
@pytest.mark.parametrize(("failing", "calls"), [("begin_beside", 1), ("_created", 1), ("_sync", 2)])
def test_a_disk_that_takes_nothing_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str, calls: int, number: int
) -> None:
    write(tmp_path, [entry(1)])
    write(tmp_path, [entry(2)])
    real = getattr(generations, failing)
    for step in range(calls):
        left = [step]

        def fails(argument: object, left: list[int] = left) -> object:
            if not left[0]:
                raise OSError(number, os.strerror(number))
            left[0] -= 1
            return real(argument)

        monkeypatch.setattr(generations, failing, fails)
        with pytest.raises(StorageFull, match="not written"):
            write(tmp_path, [entry(3)])
        monkeypatch.setattr(generations, failing, real)
        kept = Generations(tmp_path).every()
        assert all(one.is_whole() for one in kept)
        assert list(kept[0].entries()) == [entry(2)]
        assert not list(tmp_path.glob("MEMORY_SNAPSHOT.md*.part"))


def test_two_that_write_at_once_leave_two_whole_ones(tmp_path: Path) -> None:
    write(tmp_path, [entry(1)])
    first, second = Generations(tmp_path).begin(), Generations(tmp_path).begin()
    second.add([entry(2), entry(3)])
    first.add([entry(2)])
    first.finish()
    # What the second has not written to its end is nobody's newest one
    newest, *_ = Generations(tmp_path).every()
    assert list(newest.entries()) == [entry(2)]
    second.finish()
    for draft in (first, second):
        draft.discard()
    kept = Generations(tmp_path)
    assert [one.count for one in kept.every()] == [2, 1, 1]
    assert all(kept.is_ours(one) for one in kept.every())
    assert not list(tmp_path.glob("*.part"))


def test_what_a_kill_left_of_one_goes_with_the_next(tmp_path: Path) -> None:
    left = [tmp_path / f"{NAME}.part", tmp_path / f"{NAME}.0badcafe.part"]
    for path in left:
        path.write_text("half of")
    write(tmp_path, [entry(1)])
    assert not any(path.exists() for path in left)
