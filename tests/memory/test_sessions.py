import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.memory import rows, sessions
from agent.memory.base import CONVERSATION, MemoryEntry, Scope
from agent.memory.schema import MIGRATIONS
from agent.messages import Provenance
from agent.storage.database import open_database

CHAT = Scope("mei", "chat")
ELSEWHERE = Scope("mei", "elsewhere")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = open_database(tmp_path / "brain.db", MIGRATIONS)
    yield connection
    connection.close()


def turn(memory_id: int, db: sqlite3.Connection) -> sessions.SessionTurn:
    return sessions.turns(db, [memory_id])[0]


def say(db: sqlite3.Connection, content: str, scope: Scope = CHAT) -> MemoryEntry:
    draft = rows.MemoryDraft(content, content, CONVERSATION, scope, Provenance.USER)
    return rows.put(db, draft, 0.0)


def test_two_turns_either_side_are_around_a_memory(db: sqlite3.Connection) -> None:
    turns = []
    for number in range(7):
        turns.append(say(db, f"turn {number}").memory_id)
        say(db, f"other {number}", ELSEWHERE)
    around = sessions.around(db, [turn(turns[3], db)])
    assert around.memory_ids == set(turns[1:6])
    assert list(around.beside(turns[3])) == [turns[2], turns[1], turns[4], turns[5]]
    assert list(around.beside(turns[1])) == [turns[2], turns[3]]


def test_another_persons_turns_are_never_around_it(db: sqlite3.Connection) -> None:
    say(db, "tom's", Scope("tom", "chat"))
    mine = say(db, "mine")
    say(db, "tom's too", Scope("tom", "chat"))
    assert sessions.around(db, [turn(mine.memory_id, db)]).memory_ids == {mine.memory_id}


def test_outside_of_a_conversation_a_memory_is_alone(db: sqlite3.Connection) -> None:
    say(db, "before", Scope("mei"))
    fact = say(db, "fact", Scope("mei"))
    assert sessions.around(db, [turn(fact.memory_id, db)]).memory_ids == {fact.memory_id}
    assert sessions.said_before(db, fact.memory_id) == ""
    assert sessions.last_said(db, Scope("mei")) == ""


def test_what_was_said_before_is_told_in_its_order(db: sqlite3.Connection) -> None:
    for content in ("one", "two", "three"):
        say(db, content)
    last = say(db, "four")
    assert sessions.said_before(db, last.memory_id) == "two three"
    assert sessions.last_said(db, CHAT) == "three four"
    assert sessions.said_before(db, 99) == ""
