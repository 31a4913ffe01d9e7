import sqlite3
from collections.abc import Iterator

import pytest

from agent.messaging.journal import MIGRATIONS
from agent.turn.model_choice import choose, chosen


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    for script in MIGRATIONS:
        connection.executescript(script)
    yield connection
    connection.close()


def test_a_conversation_has_its_own_choice_and_the_last_one_counts(db: sqlite3.Connection) -> None:
    choose(db, "a", "large")
    choose(db, "a", "hint:fast")
    assert (chosen(db, "a"), chosen(db, "b")) == ("hint:fast", None)


def test_a_choice_can_be_taken_back_twice(db: sqlite3.Connection) -> None:
    choose(db, "a", "large")
    choose(db, "a", None)
    choose(db, "a", None)
    assert chosen(db, "a") is None
