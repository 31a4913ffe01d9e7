import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent.backup.database_copy import copy_database, is_database, schema_of, trouble_of
from tests.backup.conftest import make_database


def test_a_copy_has_what_was_committed_while_the_writer_has_it_open(tmp_path: Path) -> None:
    path, copy = tmp_path / "agent.db", tmp_path / "copy.db"
    make_database(path, 3)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("INSERT INTO said VALUES ('in the log')")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO said VALUES ('not committed')")
        assert copy_database(path, copy) == 7
        writer.execute("COMMIT")
    with closing(sqlite3.connect(copy)) as db:
        assert db.execute("SELECT count(*) FROM said").fetchone() == (4,)
    assert trouble_of(copy) == ""


def test_a_damaged_copy_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    make_database(path, 2000)
    data = bytearray(path.read_bytes())
    data[4096:8192] = b"\x55" * 4096
    path.write_bytes(data)
    assert trouble_of(path)


def test_databases_are_known_by_their_beginning(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    make_database(path, 1)
    (tmp_path / "empty.db").touch()
    assert is_database(path)
    assert schema_of(path) == 7
    assert not is_database(tmp_path / "empty.db")
    assert not is_database(tmp_path / "none.db")


def test_a_damaged_source_is_an_error_of_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with pytest.raises(sqlite3.DatabaseError):
        copy_database(path, tmp_path / "copy.db")
