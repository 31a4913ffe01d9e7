"""A note of a clean end tells the file that it was written for from any other."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent.storage import clean_end


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed database whose end is noted."""
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE t (x)")
    clean_end.note(path)
    return path


def test_it_holds_until_somebody_writes(path: Path) -> None:
    assert clean_end.is_noted(path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("SELECT * FROM t").fetchall()
    assert clean_end.is_noted(path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO t VALUES (1)")
    assert not clean_end.is_noted(path)


def test_it_does_not_hold_for_the_same_size_and_time(path: Path) -> None:
    before = path.stat()
    damaged = bytearray(path.read_bytes())
    damaged[200] ^= 0xFF
    path.write_bytes(damaged)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert not clean_end.is_noted(path)


def test_it_does_not_hold_for_a_copy(path: Path) -> None:
    copy = path.with_name("copy.db")
    shutil.copy2(path, copy)
    copy.replace(path)
    assert not clean_end.is_noted(path)


@pytest.mark.parametrize("log", ["-wal", "-journal"])
def test_a_file_with_a_log_beside_it_had_no_clean_end(path: Path, log: str) -> None:
    path.with_name(path.name + log).touch()
    assert not clean_end.is_noted(path)
    clean_end.forget(path)
    clean_end.note(path)
    path.with_name(path.name + log).unlink()
    assert not clean_end.is_noted(path)


def test_nothing_is_noted_of_what_is_not_there(tmp_path: Path) -> None:
    clean_end.note(tmp_path / "a.db")
    assert list(tmp_path.iterdir()) == []
    clean_end.forget(tmp_path / "a.db")


def test_nobody_else_may_read_it(path: Path) -> None:
    assert path.with_name(f"{path.name}{clean_end.SUFFIX}").stat().st_mode & 0o077 == 0
