import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.memory import snapshot
from agent.memory.base import MemoryEntry, Scope
from agent.messages import Provenance
from tests.memory.entries import entries

SISTER = MemoryEntry(
    12,
    "sister",
    "My sister is called Mei.\nShe lives in Taipei.",
    "core",
    Provenance.OWNER,
    Scope("owner", "terminal"),
    1795202799.0,
    1795202800.5,
    importance=0.9,
    pinned=True,
    superseded_by=13,
    source="chat",
)


def read(text: str) -> list[MemoryEntry | None]:
    return list(snapshot.parse(line + "\n" for line in text.split("\n")))


def test_a_memory_is_readable_for_people() -> None:
    assert snapshot.rendered(SISTER).splitlines() == [
        "",
        "## sister",
        "",
        "```text",
        "My sister is called Mei.",
        "She lives in Taipei.",
        "```",
        "",
        "- id: 12",
        "- category: core",
        "- provenance: owner",
        "- person: owner",
        "- session: terminal",
        "- created: 2026-11-20T19:26:39Z = 1795202799.0",
        "- updated: 2026-11-20T19:26:40Z = 1795202800.5",
        "- importance: 0.9",
        "- pinned: yes",
        "- superseded by: 13",
        "- source: chat",
    ]


@pytest.mark.parametrize("content", [SISTER.content, "with\r\nits own", "", "a\rb\r"])
def test_an_editor_or_git_that_ends_lines_another_way_loses_nothing(content: str) -> None:
    kept = replace(SISTER, content=content)
    text = "\ufeff" + snapshot.HEADER + snapshot.rendered(kept)
    assert read(text.replace("\n", "\r\n")) == [kept]


@given(st.lists(entries(), max_size=4), st.none() | st.integers(1, 2**63 - 1))
def test_whatever_is_written_is_read_back(made: list[MemoryEntry], by: int | None) -> None:
    numbered = [replace(one, memory_id=i + 1, superseded_by=by) for i, one in enumerate(made)]
    assert read("".join(map(snapshot.rendered, numbered))) == numbered


@given(entries())
def test_nothing_that_moves_a_cursor_is_in_the_file(made: MemoryEntry) -> None:
    for char in snapshot.rendered(made):
        assert char.isprintable() or char in "\n\t\u200c\u200d"


@given(st.text(max_size=200), st.integers(0, 400))
def test_any_text_is_read_without_an_error(noise: str, place: int) -> None:
    text = snapshot.rendered(SISTER)
    read(noise)
    read(text[:place] + noise + text[place:])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- id: 12", "- id: twelve"),
        ("- created: 2026-11-20T19:26:39Z = 1795202799.0", "- created: yesterday"),
        ("- importance: 0.9", "- importance: much"),
    ],
)
def test_a_memory_that_cannot_be_read_costs_only_itself(old: str, new: str) -> None:
    other = replace(SISTER, key="brother")
    damaged = snapshot.rendered(SISTER).replace(old, new)
    whole = snapshot.rendered(other)
    assert read(whole + damaged) == [other, None]
    assert read(whole + damaged + whole) == [other, None, other]


def test_a_content_without_an_end_takes_nothing_else_for_its_own() -> None:
    damaged = snapshot.rendered(SISTER).replace("\n```\n", "\n")
    whole = snapshot.rendered(replace(SISTER, key="brother"))
    assert read(damaged + whole) == [None]
    assert read(damaged + whole + whole) == [None, replace(SISTER, key="brother")]


def test_a_source_that_is_not_known_is_trusted_least() -> None:
    [found] = read(snapshot.rendered(SISTER).replace("provenance: owner", "provenance: god"))
    assert found is not None
    assert found.provenance is Provenance.WEB


def test_what_a_person_writes_by_hand_is_read() -> None:
    [found] = read("## sister\n\n```text\nMei\n```\n\n- person: owner\n")
    assert found is not None
    assert (found.key, found.content, found.scope) == ("sister", "Mei", Scope("owner"))
    assert found.provenance is Provenance.WEB


def test_the_end_says_how_many_and_what_came_before() -> None:
    digest = hashlib.sha256(b"x").hexdigest()
    ending = snapshot.ending(3, digest)
    assert len(ending) < snapshot.END_BYTES
    assert snapshot.claimed(ending.decode()) == (3, digest)
    assert snapshot.claimed("<!-- many memories -->") is None
