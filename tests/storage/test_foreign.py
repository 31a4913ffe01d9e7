import sqlite3
from contextlib import closing
from pathlib import Path

from agent.storage.foreign import open_foreign


def test_what_a_running_program_has_in_its_log_is_read(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as theirs, closing(sqlite3.connect(path)) as writer:
        theirs.execute("PRAGMA journal_mode=WAL")
        theirs.execute("SELECT * FROM sqlite_master").fetchall()
        writer.execute("CREATE TABLE said (text TEXT)")
        before = {one: one.read_bytes() for one in tmp_path.iterdir() if "shm" not in one.name}
        with closing(open_foreign(path)) as db:
            assert db.execute("SELECT count(*) FROM said").fetchone() == (0,)
        assert {one: one.read_bytes() for one in before} == before


def test_nothing_is_made_beside_one_that_was_closed(tmp_path: Path) -> None:
    path = tmp_path / "what?.db"
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute("PRAGMA journal_mode=WAL")
        theirs.execute("CREATE TABLE said (text TEXT)")
    with closing(open_foreign(path)) as db:
        assert db.execute("SELECT count(*) FROM said").fetchone() == (0,)
    assert [*tmp_path.iterdir()] == [path]
