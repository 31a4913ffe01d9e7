import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from agent.errors import StorageFull
from agent.storage.database import IN_RAM
from agent.storage.worker import DatabaseWorker
from tests.fakes.lying_card import turn_read_only
from tests.waits import wait_until


@pytest.fixture
async def worker(tmp_path: Path) -> AsyncIterator[DatabaseWorker]:
    worker = DatabaseWorker(tmp_path / "a.db", ("CREATE TABLE t (x)",))
    yield worker
    await worker.aclose()


def count(db: sqlite3.Connection) -> int:
    (rows,) = db.execute("SELECT count(*) FROM t").fetchone()
    return int(rows)


async def test_jobs_of_many_callers_run_one_after_another(worker: DatabaseWorker) -> None:
    def insert(db: sqlite3.Connection) -> None:
        before = count(db)
        db.execute("INSERT INTO t VALUES (?)", (before,))

    await asyncio.gather(*[worker.transact(insert) for _ in range(50)])
    rows = await worker.transact(lambda db: db.execute("SELECT x FROM t ORDER BY rowid").fetchall())
    assert rows == [(number,) for number in range(50)]


async def test_a_job_that_fails_is_undone(worker: DatabaseWorker) -> None:
    def insert_and_fail(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO t VALUES (1)")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await worker.transact(insert_and_fail)
    assert await worker.transact(count) == 0


async def test_a_full_disk_is_named_and_over_when_there_is_room(worker: DatabaseWorker) -> None:
    def limit(db: sqlite3.Connection) -> None:
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count={pages}")

    def insert(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO t VALUES (zeroblob(100000))")

    await worker.transact(limit)
    with pytest.raises(StorageFull):
        await worker.transact(insert)
    await worker.transact(lambda db: db.execute("PRAGMA max_page_count=1000000"))
    await worker.transact(insert)
    assert await worker.transact(count) == 1


async def test_a_wrong_statement_is_a_bug_not_a_full_disk(worker: DatabaseWorker) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        await worker.transact(lambda db: db.execute("SELECT * FROM missing"))


async def test_looking_waits_for_no_writer_and_needs_no_room(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    worker = DatabaseWorker(path, ["CREATE TABLE IF NOT EXISTS facts (content TEXT);"])
    await worker.transact(lambda db: db.execute("INSERT INTO facts VALUES ('old')"))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("INSERT INTO facts VALUES ('new')")
    await worker.look(lambda db: db.execute("PRAGMA query_only = ON").fetchall())
    found = await worker.look(lambda db: db.execute("SELECT content FROM facts").fetchall())
    other.close()
    await worker.aclose()
    assert found == [("old",)]


def later_insert(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO t VALUES ('later')")


async def test_what_can_wait_goes_with_the_next_transaction(worker: DatabaseWorker) -> None:
    committed: list[int] = []
    worker.later(later_insert, lambda: committed.append(1))
    assert await worker.look(count) == 0
    assert await worker.transact(count) == 1
    assert committed == [1]
    assert await worker.transact(count) == 1


async def test_what_waits_survives_a_transaction_that_fails(worker: DatabaseWorker) -> None:
    def fail(_db: sqlite3.Connection) -> None:
        raise ZeroDivisionError

    worker.later(later_insert)
    with pytest.raises(ZeroDivisionError):
        await worker.transact(fail)
    assert await worker.transact(count) == 1


async def test_what_waits_is_written_when_nothing_else_is(worker: DatabaseWorker) -> None:
    written = asyncio.Event()
    loop = asyncio.get_running_loop()
    worker.later(later_insert, lambda: loop.call_soon_threadsafe(written.set))
    await written.wait()
    assert await worker.look(count) == 1


async def test_what_waits_is_written_at_the_end(tmp_path: Path) -> None:
    worker = DatabaseWorker(tmp_path / "b.db", ("CREATE TABLE t (x)",))
    worker.later(later_insert)
    await worker.aclose()
    after = DatabaseWorker(tmp_path / "b.db", ("CREATE TABLE t (x)",))
    assert await after.look(count) == 1
    await after.aclose()


async def test_what_can_be_redone_is_seen_at_once_and_kept_by_the_next_change(
    worker: DatabaseWorker, tmp_path: Path
) -> None:
    await worker.redoable(later_insert)
    assert await worker.look(count) == 1
    with closing(sqlite3.connect(tmp_path / "a.db")) as other:
        assert count(other) == 0
        await worker.transact(later_insert)
        assert count(other) == 2


async def test_what_can_be_redone_is_kept_soon_by_itself(
    worker: DatabaseWorker, tmp_path: Path
) -> None:
    for _ in range(3):
        await worker.redoable(later_insert)
    with closing(sqlite3.connect(tmp_path / "a.db")) as other:
        await wait_until(lambda: count(other) == 3)


async def test_what_can_be_redone_is_kept_at_the_end(tmp_path: Path) -> None:
    worker = DatabaseWorker(tmp_path / "a.db", ("CREATE TABLE t (x)",))
    await worker.redoable(later_insert)
    await worker.aclose()
    with closing(sqlite3.connect(tmp_path / "a.db")) as other:
        assert count(other) == 1


async def test_a_redoable_job_that_fails_undoes_no_other(worker: DatabaseWorker) -> None:
    def insert_and_fail(db: sqlite3.Connection) -> None:
        later_insert(db)
        raise ValueError

    await worker.redoable(later_insert)
    with pytest.raises(ValueError):  # noqa: PT011 - the job's own, as it is
        await worker.redoable(insert_and_fail)
    assert await worker.transact(count) == 1


async def test_a_change_flushes_after_one_that_did_not(worker: DatabaseWorker) -> None:
    def flushes(db: sqlite3.Connection) -> int:
        return int(db.execute("PRAGMA synchronous").fetchone()[0])

    assert await worker.redoable(flushes) == 1
    assert await worker.transact(flushes) == 2


async def test_a_full_disk_takes_the_shared_changes_and_says_so(worker: DatabaseWorker) -> None:
    def insert(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO t VALUES (zeroblob(100000))")

    def limit(db: sqlite3.Connection) -> None:
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count={pages}")

    await worker.redoable(later_insert)
    await worker.redoable(limit)
    with pytest.raises(StorageFull):
        await worker.redoable(insert)
    await worker.transact(lambda db: db.execute("PRAGMA max_page_count=1000000"))
    await worker.redoable(insert)
    kept = await worker.transact(count)
    assert kept + worker.undone == 2


async def test_a_file_system_that_turned_read_only_under_an_open_database_takes_nothing(
    worker: DatabaseWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def add() -> None:
        await worker.transact(lambda db: db.execute("INSERT INTO t VALUES (1)"))

    await add()
    with monkeypatch.context() as patch:
        turn_read_only(patch)
        with pytest.raises(StorageFull, match="Read-only file system"):
            await add()
        with pytest.raises(StorageFull, match="Read-only file system"):
            await worker.redoable(lambda db: db.execute("INSERT INTO t VALUES (2)"))
        assert await worker.look(count) == 1
    await add()
    assert await worker.look(count) == 2


async def test_what_can_be_redone_is_undone_where_the_card_turns_read_only_before_it_is_kept(
    worker: DatabaseWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    await worker.redoable(lambda db: db.execute("INSERT INTO t VALUES (1)"))
    with monkeypatch.context() as patch:
        turn_read_only(patch)
        with pytest.raises(StorageFull, match="Read-only file system"):
            await worker.transact(lambda db: db.execute("INSERT INTO t VALUES (2)"))
    assert worker.undone == 1
    assert await worker.look(count) == 0


async def test_a_database_in_memory_asks_no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = DatabaseWorker(IN_RAM, ("CREATE TABLE t (x)",))
    turn_read_only(monkeypatch)
    await worker.transact(lambda db: db.execute("INSERT INTO t VALUES (1)"))
    assert await worker.look(count) == 1
    await worker.aclose()
