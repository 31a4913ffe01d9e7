from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection

import pytest

from agent.approvals import effect_counts
from agent.messaging.journal import MIGRATIONS
from agent.security.audit_chain import Link
from agent.security.policy import ALL, ActCount
from agent.storage.database import open_database

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
    assert effect_counts.done(database, "t", NOW_S) == {}


def test_each_name_has_counts_of_its_own(database: Connection) -> None:
    effect_counts.note(database, [ALL, "pump"], "t", NOW_S)
    effect_counts.note(database, [ALL], "t", NOW_S)
    effect_counts.note(database, [ALL], "other", NOW_S)
    assert effect_counts.done(database, "t", NOW_S) == {
        ALL: ActCount(2, 3, 3),
        "pump": ActCount(1, 1, 1),
    }


def test_an_hour_and_a_day_go_by(database: Connection) -> None:
    effect_counts.note(database, [ALL], "t", NOW_S)
    assert effect_counts.done(database, "u", NOW_S + HOUR_S - 1)[ALL] == ActCount(0, 1, 1)
    assert effect_counts.done(database, "u", NOW_S + HOUR_S)[ALL] == ActCount(0, 0, 1)
    assert effect_counts.done(database, "u", NOW_S + 24 * HOUR_S) == {}


def test_what_is_older_than_a_day_does_not_pile_up(database: Connection) -> None:
    for day in range(30):
        effect_counts.note(database, [ALL], "t", NOW_S + day * 25 * HOUR_S)
    assert database.execute("SELECT COUNT(*) FROM effects").fetchone() == (1,)


def test_counts_outlive_a_restart(path: Path) -> None:
    with closing(open_database(path, MIGRATIONS)) as before:
        effect_counts.note(before, [ALL], "t", NOW_S)
    with closing(open_database(path, MIGRATIONS)) as after:
        assert effect_counts.done(after, "u", NOW_S + 1)[ALL] == ActCount(0, 1, 1)


def test_a_clock_that_is_set_back_frees_nothing_and_blocks_nothing_for_ever(
    database: Connection,
) -> None:
    effect_counts.note(database, [ALL], "t", NOW_S + 1000 * HOUR_S)
    assert effect_counts.done(database, "u", NOW_S)[ALL] == ActCount(0, 1, 1)
    effect_counts.note(database, [ALL], "t", NOW_S)
    assert effect_counts.done(database, "u", NOW_S + 25 * HOUR_S) == {}


def test_the_last_anchor_is_kept(database: Connection) -> None:
    assert effect_counts.anchored(database) is None
    for number in (3, 7):
        effect_counts.anchor(database, Link(number, "a" * 64))
    assert effect_counts.anchored(database) == Link(7, "a" * 64)
