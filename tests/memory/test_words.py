import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory import rows, words
from agent.memory.base import CORE, EVERYBODYS, Scope
from agent.memory.schema import MIGRATIONS
from agent.memory.text import asked_tokens, tokens
from agent.messages import Provenance
from agent.storage.database import open_database


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    folder: Path = tmp_path_factory.mktemp("words")
    connection = open_database(folder / "brain.db", MIGRATIONS)
    contents = [
        "the cat sleeps all day",
        "the cats were fed by my sister",
        "my sister walks",
        "el café está cerrado",
        "हिन्दी सुंदर है",
    ]
    for content in contents:
        draft = rows.MemoryDraft(content, content, CORE, Scope(), Provenance.OWNER)
        rows.put(connection, draft, 0.0)
    yield connection
    connection.close()


def found(db: sqlite3.Connection, text: str) -> set[int]:
    return set(words.search(db, asked_tokens(text, 32), [EVERYBODYS]).strengths)


def test_words_are_found_by_their_stem(db: sqlite3.Connection) -> None:
    assert found(db, "cat") == found(db, "CATS") == {1, 2}
    assert found(db, "walking") == {3}


def test_accents_make_no_difference(db: sqlite3.Connection) -> None:
    assert found(db, "cafe esta") == {4}


def test_marks_do_not_split_a_word(db: sqlite3.Connection) -> None:
    assert found(db, "हिन्दी") == {5}
    assert found(db, "ह") == set()


def test_the_strongest_match_has_the_highest_strength(db: sqlite3.Connection) -> None:
    strengths = words.search(db, ["cat", "sister"], [EVERYBODYS]).strengths
    assert max(strengths, key=strengths.__getitem__) == 2


def test_another_owners_memories_are_not_found(db: sqlite3.Connection) -> None:
    assert words.search(db, ["cat"], ["person:mei"]).strengths == {}
    assert words.search(db, [], [EVERYBODYS]).strengths == {}


def test_coverage_weighs_rare_words_more(db: sqlite3.Connection) -> None:
    covered = words.coverage(db, ["cat", "sister", "walk"], [1, 2, 3, 4]).parts
    assert covered[4] == 0
    assert 0 < covered[1] < covered[2] < covered[3] < 1


def test_everything_asked_is_a_coverage_of_1(db: sqlite3.Connection) -> None:
    assert words.coverage(db, ["cat", "sister"], [2]).parts == {2: pytest.approx(1.0)}
    assert words.coverage(db, [], [2]).parts == {2: 0.0}


@given(text=st.text(max_size=60))
def test_any_text_can_be_searched_for(db: sqlite3.Connection, text: str) -> None:
    asked = list(dict.fromkeys(tokens(text)))
    strengths = words.search(db, asked, [EVERYBODYS]).strengths
    words.coverage(db, asked, strengths)


@given(text=st.text(alphabet='"*()^:{}+- ANDORNTEcat', max_size=30))
def test_signs_of_the_query_language_mean_nothing(db: sqlite3.Connection, text: str) -> None:
    words.search(db, [text], [EVERYBODYS])
    words.coverage(db, [text], [1, 2])
