import sqlite3
from pathlib import Path

import pytest

from agent.errors import StorageFull
from agent.storage.db import IN_RAM, open_database, was_set_aside

SCHEMA = ("CREATE TABLE notes (text TEXT NOT NULL)",)


def fill(path: Path, count: int = 200) -> None:
    connection = open_database(path, SCHEMA)
    connection.executemany(
        "INSERT INTO notes VALUES (?)", [(f"note {number} " * 20,) for number in range(count)]
    )
    connection.close()


def test_what_was_committed_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.db"
    fill(path)
    connection = open_database(path, SCHEMA)
    assert connection.execute("SELECT count(*) FROM notes").fetchone() == (200,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    connection.close()


def test_one_that_nothing_outlives_makes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    open_database(IN_RAM, SCHEMA).close()
    assert list(tmp_path.iterdir()) == []


def test_migrations_run_once_and_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    open_database(path, SCHEMA).close()
    longer = (*SCHEMA, "ALTER TABLE notes ADD COLUMN at REAL")
    for _ in range(2):
        connection = open_database(path, longer)
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
        connection.execute("SELECT text, at FROM notes")
        connection.close()


def test_a_step_that_fails_leaves_the_number_of_the_last_good_one(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with pytest.raises(StorageFull):
        open_database(path, (*SCHEMA, "CREATE TABLE two (x); NONSENSE"))
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("notes",)]
    connection.close()


def test_a_text_file_in_its_place_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_text("this is not a database, but it is longer than a header " * 50)
    open_database(path, SCHEMA).close()
    (aside,) = was_set_aside(path)
    assert aside.read_text().startswith("this is not")


def test_a_flipped_byte_in_any_page_ends_in_a_working_database(tmp_path: Path) -> None:
    source = tmp_path / "source.db"
    fill(source)
    whole = source.read_bytes()
    for start in range(0, len(whole), 4096):
        path = tmp_path / f"{start}" / "a.db"
        path.parent.mkdir()
        damaged = bytearray(whole)
        # The page header: what every read of the page goes through
        damaged[start + (100 if start == 0 else 0)] ^= 0xFF
        path.write_bytes(damaged)
        connection = open_database(path, SCHEMA)
        connection.execute("INSERT INTO notes VALUES ('after')")
        connection.close()
        assert len(was_set_aside(path)) == 1


def test_only_two_damaged_predecessors_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    for number in range(3):
        (tmp_path / f"a.db.corrupt.2026010{number}T000000").touch()
    path.write_text("rubbish " * 100)
    open_database(path, SCHEMA).close()
    assert len(was_set_aside(path)) == 2


def test_a_folder_that_cannot_hold_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.db").mkdir()
    with pytest.raises(StorageFull, match=r"a\.db cannot be opened"):
        open_database(tmp_path / "a.db", SCHEMA)


@pytest.mark.parametrize(
    ("place", "value"), [(18, 0xFD), (19, 0xFD), (47, 0xFB)], ids=["write", "read", "schema"]
)
def test_a_file_of_an_unknown_format_is_set_aside(tmp_path: Path, place: int, value: int) -> None:
    path = tmp_path / "a.db"
    fill(path, 1)
    damaged = bytearray(path.read_bytes())
    damaged[place] = value
    path.write_bytes(damaged)
    connection = open_database(path, SCHEMA)
    connection.execute("INSERT INTO notes VALUES ('after')")
    connection.close()
    assert len(was_set_aside(path)) == 1
