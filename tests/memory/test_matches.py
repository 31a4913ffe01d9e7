import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from agent.memory import matches, rows, words
from agent.memory.base import CORE, Scope
from agent.memory.schema import MIGRATIONS
from agent.memory.vectors import VectorIndex
from agent.messages import Provenance
from agent.storage.database import open_database

MEI = Scope("mei")
CONTENTS = ("the cat sleeps", "the cats were fed by my sister", "my sister walks", "tea")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = open_database(tmp_path / "brain.db", MIGRATIONS)
    for content in CONTENTS:
        rows.put(connection, rows.MemoryDraft(content, content, CORE, MEI, Provenance.OWNER), 0.0)
    tom = rows.MemoryDraft("t", "tom's cat and sister", CORE, Scope("tom"), Provenance.OWNER)
    rows.put(connection, tom, 0.0)
    yield connection
    connection.close()


def found(db: sqlite3.Connection, embedded: int) -> matches.Matches:
    """With vectors for the first few memories only."""
    index = VectorIndex("model", 64)
    for memory_id, content in enumerate(CONTENTS[:embedded], 1):
        vector = np.ones(64, np.float32) / 8
        index.put(memory_id, MEI.owner, vector, len(content))
    similar = index.search(np.ones(64, np.float32) / 8, MEI.owners)
    return matches.search(db, ["cat", "sister"], MEI.owners, similar)


@pytest.mark.parametrize("embedded", [0, 2, 4])
def test_it_finds_what_the_word_index_finds(db: sqlite3.Connection, embedded: int) -> None:
    hits = words.search(db, ["cat", "sister"], MEI.owners)
    matched = found(db, embedded)
    assert matched.memory_ids.tolist() == sorted(hits.strengths) == [1, 2, 3]
    assert matched.strongest(1) == hits.strongest(1) == [2]


def test_the_parts_of_what_was_asked_are_the_same(db: sqlite3.Connection) -> None:
    assert found(db, 4).coverage([1, 2, 4]) == words.coverage(db, ["cat", "sister"], [1, 2, 4])


def test_a_shorter_memory_is_stronger(db: sqlite3.Connection) -> None:
    long = rows.MemoryDraft("long", f"a cat {'and so on ' * 40}", CORE, MEI, Provenance.OWNER)
    rows.put(db, long, 0.0)
    strengths = found(db, 4).strengths_of([1, 6, 4])
    assert strengths[1] > strengths[6] > 0
    assert 4 not in strengths


def test_without_words_nothing_matches(db: sqlite3.Connection) -> None:
    index = VectorIndex("model", 64)
    nothing = matches.search(db, [], MEI.owners, index.search(np.zeros(64, np.float32), [""]))
    assert nothing.strongest(5) == []
    assert nothing.scale.z(0.0) == 0.0
