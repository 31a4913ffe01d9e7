from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection

import pytest

from agent.dispatch import tally
from agent.dispatch.journal import MIGRATIONS
from agent.security.chain import Link
from agent.security.policy import ALL, Done
from agent.storage.db import open_database

NOW_S = 1_800_000_000.0
HOUR_S = 3600.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


@pytest.fixture
def database(path: Path) -> Iterator[Connection]:
    with closing(open_database(path, MIGRATIONS)) as opened:
        yield opened


def test_nothing_was_done_at_first(database: Connection) -> None:
    assert tally.done(database, "t", NOW_S) == {}


def test_each_name_has_counts_of_its_own(database: Connection) -> None:
    tally.note(database, [ALL, "pump"], "t", NOW_S)
    tally.note(database, [ALL], "t", NOW_S)
    tally.note(database, [ALL], "other", NOW_S)
    assert tally.done(database, "t", NOW_S) == {ALL: Done(2, 3, 3), "pump": Done(1, 1, 1)}


def test_an_hour_and_a_day_go_by(database: Connection) -> None:
    tally.note(database, [ALL], "t", NOW_S)
    assert tally.done(database, "u", NOW_S + HOUR_S - 1)[ALL] == Done(0, 1, 1)
    assert tally.done(database, "u", NOW_S + HOUR_S)[ALL] == Done(0, 0, 1)
    assert tally.done(database, "u", NOW_S + 24 * HOUR_S) == {}


def test_what_is_older_than_a_day_does_not_pile_up(database: Connection) -> None:
    for day in range(30):
        tally.note(database, [ALL], "t", NOW_S + day * 25 * HOUR_S)
    assert database.execute("SELECT COUNT(*) FROM effects").fetchone() == (1,)


def test_counts_outlive_a_restart(path: Path) -> None:
    with closing(open_database(path, MIGRATIONS)) as before:
        tally.note(before, [ALL], "t", NOW_S)
    with closing(open_database(path, MIGRATIONS)) as after:
        assert tally.done(after, "u", NOW_S + 1)[ALL] == Done(0, 1, 1)


def test_a_clock_that_is_set_back_frees_nothing_and_blocks_nothing_for_ever(
    database: Connection,
) -> None:
    tally.note(database, [ALL], "t", NOW_S + 1000 * HOUR_S)
    assert tally.done(database, "u", NOW_S)[ALL] == Done(0, 1, 1)
    tally.note(database, [ALL], "t", NOW_S)
    assert tally.done(database, "u", NOW_S + 25 * HOUR_S) == {}


def test_the_last_anchor_is_kept(database: Connection) -> None:
    assert tally.anchored(database) is None
    for number in (3, 7):
        tally.anchor(database, Link(number, "a" * 64))
    assert tally.anchored(database) == Link(7, "a" * 64)
