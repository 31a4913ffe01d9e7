"""A check finds damage, may be given up, and is made once for all who ask."""

import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import pytest

from agent.storage import soundness
from agent.storage.soundness import SoundnessCheck, is_sound


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of some pages."""
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE t (x PRIMARY KEY)")
        db.executemany("INSERT INTO t VALUES (?)", [(f"{number} " * 20,) for number in range(500)])
    return path


def spoil(path: Path) -> None:
    damaged = bytearray(path.read_bytes())
    damaged[4096:8192] = bytes(4096)
    path.write_bytes(damaged)


def test_a_check_tells_damage_and_keeps_its_result(path: Path) -> None:
    check = SoundnessCheck(path)
    assert check.found is None
    assert check.run() is True
    spoil(path)
    assert check.run() is check.found is True
    assert SoundnessCheck(path).run() is False


def test_a_check_that_was_given_up_tells_nothing(path: Path) -> None:
    check = SoundnessCheck(path)
    check.give_up()
    assert check.run() is None


def test_a_check_that_runs_is_ended(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, given_up = Event(), Event()

    def held(path: Path, hold: object) -> bool:
        def holding(connection: sqlite3.Connection) -> None:
            hold(connection)  # type: ignore[operator]  # as it came
            # Without an end of its own
            connection.create_function("again", 0, lambda: begun.set() or 1)
            with pytest.raises(sqlite3.OperationalError, match="interrupted"):
                connection.execute(
                    "WITH RECURSIVE n (x) AS (SELECT again() UNION ALL SELECT again() FROM n)"
                    " SELECT count(*) FROM n"
                ).fetchall()
            given_up.set()

        return is_sound(path, holding)

    monkeypatch.setattr(soundness, "is_sound", held)
    check = SoundnessCheck(path)
    checking = Thread(target=check.run)
    checking.start()
    assert begun.wait(60)
    check.give_up()
    checking.join(60)
    assert given_up.is_set()
    assert check.found is None
