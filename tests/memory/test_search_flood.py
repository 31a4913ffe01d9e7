import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.memory import rows, search
from agent.memory.base import CORE, MemoryEntry, Scope
from agent.memory.ranking import RankedMemory
from agent.memory.schema import MIGRATIONS
from agent.memory.search import MemoryQuestion, spread
from agent.messages import Provenance
from agent.storage.database import open_database
from tests.contracts.memory import MEI

NOTES = 10_000
SAID = MemoryEntry(1, "k", "", CORE, Provenance.OWNER, Scope("mei"), 0.0, 0.0)


def ranked(*said: tuple[str, Provenance]) -> list[RankedMemory]:
    return [
        RankedMemory(replace(SAID, content=content, provenance=provenance), 0.9 - place / 100)
        for place, (content, provenance) in enumerate(said)
    ]


def contents(found: list[RankedMemory]) -> list[str]:
    return [one.entry.content for one in found]


def test_what_a_page_repeats_comes_after_what_a_person_said_once() -> None:
    page = [(f"buy the good green pump now, offer {n}", Provenance.WEB) for n in range(4)]
    found = spread(ranked(*page, ("my pump is red", Provenance.OWNER)))
    assert contents(found) == [
        "buy the good green pump now, offer 0",
        "buy the good green pump now, offer 1",
        "my pump is red",
        "buy the good green pump now, offer 2",
        "buy the good green pump now, offer 3",
    ]
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)


def test_what_people_repeat_and_what_differs_keeps_its_place() -> None:
    said = [(f"the cat has {n} kittens", Provenance.OWNER) for n in range(4)]
    different = [("the boiler is old", Provenance.WEB), ("tea is green", Provenance.WEB)]
    given = ranked(*said, *different)
    assert spread(given) == given
    assert spread([]) == []


@pytest.fixture
def flooded(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = open_database(tmp_path / "brain.db", MIGRATIONS)
    connection.execute("BEGIN")
    own = rows.MemoryDraft(
        "own", "my sister Mei is allergic to penicillin", CORE, MEI, Provenance.OWNER
    )
    rows.put(connection, own, 1.0)
    for number in range(NOTES):
        content = f"sister Mei is not allergic to penicillin at all, says note {number}"
        draft = rows.MemoryDraft(
            f"k{number}", content, CORE, MEI, Provenance.WEB, "https://example.org"
        )
        rows.put(connection, draft, 2.0)
    yield connection
    connection.close()


def test_ten_thousand_notes_of_a_page_do_not_bury_what_the_owner_said(
    flooded: sqlite3.Connection,
) -> None:
    for asked in ("is my sister allergic to penicillin?", "sister Mei not allergic says note"):
        found = search.find(flooded, MemoryQuestion(asked, MEI), 5)
        assert "own" in {entry.key for entry in found}
