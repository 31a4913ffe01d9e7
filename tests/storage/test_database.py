import itertools
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent.errors import StorageFull
from agent.memory.schema import MIGRATIONS as BRAIN
from agent.messaging.journal import MIGRATIONS as JOURNAL
from agent.storage.database import IN_RAM, made_by_later, open_database, was_set_aside

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


def test_each_damaged_one_is_kept_though_the_clock_stood_still_or_went_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    # Two starts of a machine whose clock goes on only while it is on, and one with an older time
    moments = [time.gmtime(now_s) for now_s in (1_800_000_000.0, 1_800_000_000.0, 1_700_000_000.0)]
    for number, moment in enumerate(moments):
        monkeypatch.setattr(time, "gmtime", partial(tuple, moment))
        path.write_text(f"rubbish {number} " * 100)
        open_database(path, SCHEMA).close()
        path.unlink()
    newest_first = [one.read_text()[:9] for one in was_set_aside(path)]
    assert newest_first == ["rubbish 2", "rubbish 1"]


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


OURS = (
    """
    CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL, kind TEXT NOT NULL DEFAULT '');
    CREATE TABLE marks (note INTEGER NOT NULL REFERENCES notes (id), mark TEXT NOT NULL);
    CREATE TABLE names (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID
    """,
)
LATER = (
    *OURS,
    """
    ALTER TABLE notes ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';
    ALTER TABLE notes DROP COLUMN kind;
    CREATE TABLE moods (name TEXT)
    """,
)


class PowerCut(BaseException):
    """Nothing comes after it."""


def rows(path: Path, migrations: Sequence[str], query: str) -> list[tuple[Any, ...]]:
    with closing(open_database(path, migrations)) as database:
        return database.execute(query).fetchall()


def tried_by_later(path: Path) -> None:
    """Made here, changed by a later version, and used by it."""
    with closing(open_database(path, OURS)) as database:
        database.execute("INSERT INTO notes (text, kind) VALUES ('before', 'x'), ('gone', 'x')")
        database.execute("INSERT INTO names VALUES ('a', '1')")
    with closing(open_database(path, LATER)) as database:
        database.execute("DELETE FROM notes WHERE text = 'gone'")
        database.execute("INSERT INTO notes (id, text) VALUES (7, 'accepted meanwhile')")
        database.execute("INSERT INTO marks (rowid, note, mark) VALUES (40, 7, 'm')")
        database.execute("UPDATE names SET value = '2'")


def test_what_the_later_version_accepted_is_there_and_what_it_removed_is_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.db"
    tried_by_later(path)
    assert rows(path, OURS, "SELECT id, text, kind FROM notes") == [
        (1, "before", ""),
        (7, "accepted meanwhile", ""),
    ]
    assert rows(path, OURS, "SELECT rowid, note, mark FROM marks") == [(40, 7, "m")]
    assert rows(path, OURS, "SELECT * FROM names") == [("a", "2")]
    assert rows(path, OURS, "PRAGMA user_version") == [(1,)]
    assert was_set_aside(path) == []


def test_what_only_the_later_one_had_stays_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    tried_by_later(path)
    open_database(path, OURS).close()
    [later] = made_by_later(path)
    assert rows(later, LATER, "SELECT mood FROM notes WHERE id = 7") == [("calm",)]


def test_it_can_be_tried_and_left_again_and_again(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    tried_by_later(path)
    for _ in range(3):
        assert len(rows(path, OURS, "SELECT * FROM notes")) == 2
        assert len(rows(path, LATER, "SELECT * FROM notes")) == 2
    assert len(made_by_later(path)) == 1
    assert {one.suffix for one in tmp_path.iterdir() if one not in made_by_later(path)} == {".db"}


def test_a_row_that_does_not_fit_is_left_out_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.db"
    later = (*OURS, "DROP TABLE names; CREATE TABLE names (name TEXT)")
    with closing(open_database(path, later)) as database:
        database.execute("INSERT INTO names VALUES ('a')")
    assert rows(path, OURS, "SELECT * FROM names") == []
    assert "(rows=1, of=1, table=names)" in caplog.text


def test_a_message_that_was_accepted_on_trial_is_still_to_be_answered(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    later = (*JOURNAL, "ALTER TABLE inbox ADD COLUMN weight REAL", "CREATE TABLE more (x)")
    with closing(open_database(path, later)) as database:
        database.execute(
            "INSERT INTO inbox (channel, message_id, sender, reply_target, text, provenance, "
            "received_at_s, state, weight) VALUES ('telegram', '5', 'me', 'me', 'on', 1, 2, "
            "'accepted', 3)"
        )
    query = "SELECT channel, message_id, text, state FROM inbox"
    assert rows(path, JOURNAL, query) == [("telegram", "5", "on", "accepted")]


def test_memories_are_found_by_their_words_again(tmp_path: Path) -> None:
    path = tmp_path / "brain.db"
    other_words = (
        "DROP TABLE memory_words;"
        "CREATE VIRTUAL TABLE memory_words USING fts5(words, tokenize = 'trigram')"
    )
    with closing(open_database(path, (*BRAIN, other_words))) as database:
        database.execute(
            "INSERT INTO memories (id, person, key, content, category, provenance, created_at_s, "
            "updated_at_s) VALUES (9, 'owner', 'sister', 'Ada', 'core', 'owner', 1, 1)"
        )
        database.execute("INSERT INTO memory_words (rowid, words) VALUES (9, 'my sister ada')")
    found = "SELECT rowid FROM memory_words WHERE memory_words MATCH 'sisters'"
    assert rows(path, BRAIN, found) == [(9,)]
    assert rows(path, BRAIN, "SELECT owner, key FROM entries") == [("person:owner", "sister")]


def test_cut_at_any_step_everything_is_there_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in itertools.count(1):
        path = tmp_path / str(step) / "a.db"
        tried_by_later(path)
        with monkeypatch.context() as patch:
            cut_at(patch, step)
            try:
                open_database(path, OURS).close()
            except PowerCut:
                pass
            else:
                break
        assert len(rows(path, OURS, "SELECT * FROM notes")) == 2
    assert step > 5


def cut_at(patch: pytest.MonkeyPatch, step: int) -> None:
    done = itertools.count(1)

    def cut(real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*args: Any, **kwargs: Any) -> Any:
            if next(done) == step:
                raise PowerCut
            return real(*args, **kwargs)

        return operation

    for name in ("fsync", "link", "replace"):
        patch.setattr(os, name, cut(getattr(os, name)))


def test_without_room_for_it_the_database_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    tried_by_later(path)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(StorageFull, match="brought into an older form"):
            open_database(path, OURS)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (2,)
    assert len(rows(path, OURS, "SELECT * FROM notes")) == 2
