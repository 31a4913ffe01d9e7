"""A file that was closed whole answers before it is checked, and is not changed before."""
# ruff: noqa: ASYNC240  # nothing else runs in these tests

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest

from agent.errors import StorageFull
from agent.storage import clean_end, soundness
from agent.storage.worker import DatabaseWorker

SCHEMA = ("CREATE TABLE t (x)",)


def opened(path: Path) -> DatabaseWorker:
    return DatabaseWorker(path, SCHEMA, answers_first=True)


def insert(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO t VALUES (1)")


def count(db: sqlite3.Connection) -> int:
    (rows,) = db.execute("SELECT count(*) FROM t").fetchone()
    return int(rows)


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    worker = opened(path)
    await worker.transact(insert)
    await worker.aclose()
    return path


@contextmanager
def held_check(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Have checks wait for an event."""
    released, is_sound = Event(), soundness.is_sound

    def waiting(path: Path, hold: object) -> bool:
        assert released.wait(60)
        return is_sound(path, hold)  # type: ignore[arg-type]  # as it came

    with monkeypatch.context() as patch:
        patch.setattr(soundness, "is_sound", waiting)
        yield released
        released.set()


async def test_it_answers_while_the_check_runs_and_a_change_waits(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = opened(path)
    with held_check(monkeypatch) as released:
        assert await worker.look(count) == 1
        assert worker.is_unchecked
        checking = asyncio.create_task(worker.check())
        assert await worker.look(count) == 1
        assert worker.is_unchecked
        released.set()
        assert await checking is True
    assert not worker.is_unchecked
    await worker.transact(insert)
    assert await worker.look(count) == 2
    await worker.aclose()


async def test_a_change_that_nobody_had_checked_for_is_checked_first(path: Path) -> None:
    worker = opened(path)
    assert await worker.look(count) == 1
    await worker.redoable(insert)
    assert not worker.is_unchecked
    await worker.aclose()
    worker = opened(path)
    assert await worker.look(count) == 2
    await worker.aclose()


async def test_a_look_cannot_change_what_is_not_checked(path: Path) -> None:
    worker = opened(path)
    before = path.read_bytes()
    with pytest.raises(StorageFull, match="readonly"):
        await worker.look(insert)
    await worker.aclose()
    assert path.read_bytes() == before


async def test_a_damaged_one_is_not_changed(path: Path) -> None:
    spoiled = bytearray(path.read_bytes())
    # More free pages than there are: nothing that a look would meet
    spoiled[36:40] = (7).to_bytes(4)
    path.write_bytes(spoiled)
    clean_end.note(path)
    worker = opened(path)
    assert await worker.look(count) == 1
    with pytest.raises(sqlite3.DatabaseError, match="damaged"):
        await worker.transact(insert)
    await worker.aclose()
    assert path.read_bytes() == spoiled
    assert not clean_end.is_noted(path)


async def test_the_note_goes_with_the_first_change_and_comes_with_the_end(path: Path) -> None:
    assert clean_end.is_noted(path)
    worker = opened(path)
    note = path.with_name(f"{path.name}{clean_end.SUFFIX}")
    assert await worker.look(count) == 1
    assert note.exists()
    await worker.transact(insert)
    assert not note.exists()
    await worker.aclose()
    assert clean_end.is_noted(path)


async def test_who_only_looked_leaves_the_note_as_it_was(path: Path) -> None:
    worker = opened(path)
    assert await worker.look(count) == 1
    # The check is given up: it runs and its connection is open, or it has not begun
    checking = asyncio.create_task(worker.check())
    await worker.aclose()
    await checking
    assert clean_end.is_noted(path)
    assert [one.name for one in path.parent.glob("a.db-*")] == []


async def test_a_doubted_end_is_not_noted(path: Path) -> None:
    worker = opened(path)
    await worker.transact(insert)
    worker.doubt()
    await worker.aclose()
    assert not clean_end.is_noted(path)


async def test_one_of_an_earlier_form_is_checked_first(path: Path) -> None:
    worker = DatabaseWorker(path, (*SCHEMA, "CREATE TABLE u (x)"), answers_first=True)
    assert await worker.look(count) == 1
    assert not worker.is_unchecked
    await worker.aclose()


async def test_others_make_no_note(tmp_path: Path) -> None:
    worker = DatabaseWorker(tmp_path / "b.db", SCHEMA)
    await worker.transact(insert)
    await worker.aclose()
    assert [one.name for one in tmp_path.iterdir()] == ["b.db"]
