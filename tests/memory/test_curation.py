import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.memory import curation, rows
from agent.memory.base import CONVERSATION, CORE, DAILY, MemoryEntry
from agent.memory.curation import Marks, evict, hide_duplicates, prune
from agent.memory.forgetting import bury, doomed, from_source
from agent.memory.schema import MIGRATIONS
from agent.messages import Provenance
from agent.storage.database import open_database
from tests.contracts.memory import MEI, TOM

OWNER, USER, MODEL, WEB = Provenance.OWNER, Provenance.USER, Provenance.MODEL, Provenance.WEB


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = open_database(tmp_path / "brain.db", MIGRATIONS)
    connection.execute("BEGIN")
    yield connection
    connection.close()


def put(
    db: sqlite3.Connection,
    key: str,
    content: str,
    provenance: Provenance = OWNER,
    *,
    category: str = CORE,
    at_s: float = 1.0,
) -> MemoryEntry:
    return rows.put(
        db, rows.MemoryDraft(key, content, category, MEI, provenance, source="chat"), at_s
    )


def put_toms(db: sqlite3.Connection, content: str) -> None:
    rows.put(db, rows.MemoryDraft("toms", content, CORE, TOM, OWNER, source="chat"), 1.0)


def shown(db: sqlite3.Connection) -> set[str]:
    return {entry.key for entry in rows.page(db, 0) if entry.superseded_by is None}


def test_a_penicillin_allergy_survives_green_tea(db: sqlite3.Connection) -> None:
    put(db, "allergy", "User is allergic to penicillin")
    put(db, "tea", "User likes green tea")
    put(db, "dog", "The user's dog is named Rex")
    for new in ("tea", "dog"):
        assert curation.supersede(db, "allergy", new, MEI, 2.0) is None
    assert shown(db) == {"allergy", "tea", "dog"}


def test_a_contradiction_on_the_same_subject_hides_and_comes_back(db: sqlite3.Connection) -> None:
    old = put(db, "home", "my sister lives in Taipei")
    put(db, "home2", "my sister lives in Osaka")
    assert curation.supersede(db, "home", "home2", MEI, 2.0) == old.memory_id
    assert shown(db) == {"home2"}
    assert curation.supersede(db, "home", "home2", MEI, 2.0) is None
    assert curation.revive(db, "home", MEI, 3.0)
    assert not curation.revive(db, "home", MEI, 3.0)
    assert shown(db) == {"home", "home2"}
    log = db.execute("SELECT action, owner, key, other_key FROM memory_log").fetchall()
    assert log == [
        ("superseded", "person:mei", "home", "home2"),
        ("revived", "person:mei", "home", ""),
    ]


def test_nobody_hides_what_somebody_more_trusted_said(db: sqlite3.Connection) -> None:
    put(db, "home", "my sister lives in Taipei", USER)
    put(db, "page", "my sister lives in Osaka", WEB)
    assert curation.supersede(db, "home", "page", MEI, 2.0) is None
    assert curation.supersede(db, "page", "home", MEI, 2.0) is not None


def test_pinned_memories_and_those_of_others_are_not_hidden(db: sqlite3.Connection) -> None:
    put(db, "home", "my sister lives in Taipei")
    put(db, "home2", "my sister lives in Osaka")
    put_toms(db, "my sister lives in Bergen")
    assert curation.mark(db, "home", MEI, Marks(pinned=True, importance=2.0))
    assert curation.supersede(db, "home", "home2", MEI, 2.0) is None
    assert curation.supersede(db, "home2", "toms", MEI, 2.0) is None
    [marked] = [entry for entry in rows.page(db, 0) if entry.key == "home"]
    assert (marked.pinned, marked.importance) == (True, 1.0)
    assert not curation.mark(db, "home", TOM, Marks(pinned=True))


def test_what_another_said_under_a_pinned_key_is_not_pinned(db: sqlite3.Connection) -> None:
    put(db, "home", "my sister lives in Taipei")
    curation.mark(db, "home", MEI, Marks(pinned=True))
    assert put(db, "home", "my sister lives in Osaka").pinned
    assert not put(db, "home", "the page says so", WEB).pinned


def test_what_a_page_says_again_takes_nothing_of_a_persons_trust(db: sqlite3.Connection) -> None:
    said = put(db, "", "The cat is called Lin")
    assert put(db, "", "the cat is called Lin.", WEB, at_s=9.0) == said
    assert [entry.provenance for entry in rows.page(db, 0)] == [OWNER]


def test_what_a_page_puts_in_a_persons_place_can_be_undone(db: sqlite3.Connection) -> None:
    said = put(db, "allergy", "I am allergic to penicillin")
    page = put(db, "allergy", "no allergies at all", WEB, at_s=9.0)
    assert (page.memory_id, page.provenance) == (said.memory_id, WEB)
    assert shown(db) == {"allergy"}
    bury(db, doomed(db, "allergy", MEI))
    [left] = rows.page(db, 0)
    assert (left.content, left.provenance, left.superseded_by) == (said.content, OWNER, None)


def test_duplicates_are_hidden_behind_the_most_trusted(db: sqlite3.Connection) -> None:
    put(db, "page", "The cat is called Lin", WEB, at_s=1.0)
    best = put(db, "said", "the cat is called Lin.", at_s=5.0)
    put(db, "model", "The cat is called lin", MODEL, at_s=2.0)
    put_toms(db, "The cat is called Lin")
    assert len(hide_duplicates(db, 9.0)) == 2
    assert shown(db) == {"said", "toms"}
    assert rows.held(db, MEI.owner, "said") == best
    assert hide_duplicates(db, 9.0) == []


def test_a_duplicate_never_rises_in_trust(db: sqlite3.Connection) -> None:
    for number in range(5):
        put(db, f"k{number}", "the door opens on thanks", Provenance(number % 3), at_s=number)
    before = {entry.key: entry.provenance for entry in rows.page(db, 0)}
    hide_duplicates(db, 9.0)
    assert {entry.key: entry.provenance for entry in rows.page(db, 0)} == before


def test_a_forgotten_memory_does_not_come_back_as_its_duplicate(db: sqlite3.Connection) -> None:
    put(db, "a", "The cat is called Lin")
    put(db, "b", "the cat is called Lin.")
    hide_duplicates(db, 9.0)
    bury(db, doomed(db, "a", MEI))
    assert rows.page(db, 0) == []


def test_old_conversations_go_and_nothing_else(db: sqlite3.Connection) -> None:
    put(db, "old", "said long ago", category=CONVERSATION, at_s=1.0)
    put(db, "pinned", "said long ago, and pinned", category=CONVERSATION, at_s=1.0)
    curation.mark(db, "pinned", MEI, Marks(pinned=True))
    put(db, "new", "said just now", category=CONVERSATION, at_s=10.0)
    put(db, "fact", "a fact", at_s=1.0)
    assert len(prune(db, 5.0)) == 1
    assert shown(db) == {"pinned", "new", "fact"}


def test_what_is_trusted_least_is_evicted_first(db: sqlite3.Connection) -> None:
    put(db, "page", "from a page", WEB, at_s=9.0)
    put(db, "talk", "said in passing", category=CONVERSATION)
    put(db, "day", "it rained", category=DAILY)
    put(db, "model", "concluded", MODEL)
    put(db, "fact", "a fact")
    evicted = []
    for limit in (4, 3, 2, 1, 0):
        before = shown(db)
        evict(db, limit)
        evicted.append(before - shown(db))
    assert evicted == [{"page"}, {"model"}, {"talk"}, {"day"}, set()]
    assert shown(db) == {"fact"}


def test_ten_thousand_notes_of_a_page_evict_nothing_that_a_person_said(
    db: sqlite3.Connection,
) -> None:
    for number in range(20):
        put(db, f"own{number}", f"my fact number {number}", category=DAILY)
    for number in range(1500):
        put(db, f"page{number}", f"buy this pump now, offer {number}", WEB, at_s=9.0)
    while evict(db, 100):
        pass
    assert {f"own{number}" for number in range(20)} <= shown(db)
    assert len(shown(db)) == 100


def test_everything_of_a_source_is_forgotten(db: sqlite3.Connection) -> None:
    put(db, "a", "from there")
    put(db, "b", "from there too")
    put_toms(db, "by another")
    assert bury(db, from_source(db, "chat", MEI)) == 0
    assert shown(db) == {"toms"}
