import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory import rows, vectors
from agent.memory.base import CORE, EVERYBODYS, Scope
from agent.memory.schema import MIGRATIONS
from agent.memory.vectors import Vector, VectorIndex, decoded, encode
from agent.messages import Provenance
from agent.storage.database import open_database

DIMENSIONS = 24
MEI = Scope("mei").owners
TOM = Scope("tom").owners


def direction(seed: int) -> Vector:
    vector = np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
    unit: Vector = vector / np.linalg.norm(vector)
    return unit


@pytest.fixture
def index() -> VectorIndex:
    return VectorIndex("model", DIMENSIONS)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = open_database(tmp_path / "brain.db", MIGRATIONS)
    yield connection
    connection.close()


def remember(db: sqlite3.Connection, number: int, model: str = "model") -> int:
    draft = rows.MemoryDraft(f"k{number}", "content", CORE, Scope("mei"), Provenance.OWNER)
    memory_id = rows.put(db, draft, 0.0).memory_id
    rows.put_vector(db, memory_id, model, encode(direction(number)))
    return memory_id


def test_cosines_are_those_of_plain_floats(index: VectorIndex) -> None:
    for number in range(500):
        index.put(number, EVERYBODYS, direction(number))
    similar = index.search(direction(7), [EVERYBODYS])
    expected = [float(direction(number) @ direction(7)) for number in range(500)]
    assert np.allclose(similar.cosines, expected, atol=0.01)
    assert next(iter(similar.nearest(1))) == 7
    assert similar.mean == pytest.approx(np.mean(expected), abs=0.01)
    assert similar.deviation == pytest.approx(np.std(expected), abs=0.01)


def test_in_a_large_store_signs_choose_and_exact_cosines_decide(
    index: VectorIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(600):
        index.put(number, EVERYBODYS, direction(number))
    exact = index.search(direction(7), [EVERYBODYS])
    monkeypatch.setattr(vectors, "EXACT_ROWS", 100)
    estimated = index.search(direction(7), [EVERYBODYS])
    nearest = estimated.nearest(9)
    assert next(iter(estimated.nearest(1))) == 7
    assert nearest == pytest.approx(exact.of(nearest), abs=1e-5)
    assert estimated.of([3, 599]) == pytest.approx(exact.of([3, 599]), abs=1e-5)
    # With only 24 numbers; the 384 of a real model have 0.86
    assert np.corrcoef(estimated.cosines, exact.cosines)[0, 1] > 0.6


def test_memories_are_named_in_order_whatever_order_they_came_in(index: VectorIndex) -> None:
    for memory_id in (5, 2, 9, 7):
        index.put(memory_id, EVERYBODYS, direction(memory_id), length=memory_id)
    index.discard(2)
    similar = index.search(direction(9), [EVERYBODYS])
    assert similar.memory_ids.tolist() == similar.all_ids.tolist() == [5, 7, 9]
    assert similar.lengths.tolist() == [5, 7, 9]
    assert next(iter(similar.nearest(1))) == 9


def test_people_see_their_own_and_everybodys(index: VectorIndex) -> None:
    for memory_id, owner in ((1, MEI[0]), (2, TOM[0]), (3, EVERYBODYS)):
        index.put(memory_id, owner, direction(memory_id))
    assert set(index.search(direction(1), MEI).nearest(9)) == {1, 3}
    assert set(index.search(direction(1), ["person:nobody", EVERYBODYS]).nearest(9)) == {3}
    assert set(index.search(direction(1), [EVERYBODYS]).nearest(9)) == {3}
    assert set(index.search(direction(1), MEI).of([1, 2])) == {1}


def test_an_empty_index_finds_nothing(index: VectorIndex) -> None:
    similar = index.search(direction(1), [EVERYBODYS])
    assert (similar.nearest(5), similar.of([1]), similar.mean, similar.deviation) == ({}, {}, 0, 0)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=60))
def test_it_holds_what_was_put_and_not_discarded(steps: list[tuple[bool, int]]) -> None:
    index = VectorIndex("model", DIMENSIONS)
    held: dict[int, int] = {}
    for turn, (is_put, memory_id) in enumerate(steps):
        if is_put:
            index.put(memory_id, EVERYBODYS, direction(turn))
            held[memory_id] = turn
        else:
            index.discard(memory_id)
            held.pop(memory_id, [EVERYBODYS])
    for memory_id, turn in held.items():
        assert index.search(direction(turn), [EVERYBODYS]).of([memory_id])[memory_id] > 0.98
    assert set(index.search(direction(0), [EVERYBODYS]).nearest(99)) == set(held)


def test_it_is_made_from_the_table(index: VectorIndex, db: sqlite3.Connection) -> None:
    memory_id = remember(db, 1)
    remember(db, 2, model="another model")
    assert index.read_on(db, 9)
    assert list(index.search(direction(1), MEI).nearest(9)) == [memory_id]
    assert index.search(direction(1), TOM).nearest(9) == {}


def test_it_leaves_out_what_is_superseded_or_of_another_size(
    index: VectorIndex, db: sqlite3.Connection
) -> None:
    old, new, short = (remember(db, number) for number in (1, 2, 3))
    db.execute("UPDATE memories SET superseded_by = ? WHERE id = ?", [new, old])
    rows.put_vector(db, short, "model", b"\x00\x01")
    assert index.read_on(db, 9)
    assert list(index.search(direction(1), MEI).nearest(9)) == [new]


def test_pieces_make_the_same_index_as_vectors_one_by_one(
    index: VectorIndex, db: sqlite3.Connection
) -> None:
    ids = [remember(db, number) for number in range(1, 12)]
    one_by_one = VectorIndex("model", DIMENSIONS)
    for number, memory_id in enumerate(ids, start=1):
        stored = decoded(encode(direction(number)))
        one_by_one.put(memory_id, MEI[0], stored, len(f"memory {number}"))
    pieces = 0
    while not index.read_on(db, 3):
        pieces += 1
    assert pieces == 3
    for number in range(1, 12):
        mine, theirs = (one.search(direction(number), MEI) for one in (index, one_by_one))
        assert mine.nearest(99) == theirs.nearest(99)


def test_what_is_put_while_it_is_read_is_not_read_over(
    index: VectorIndex, db: sqlite3.Connection
) -> None:
    first, second, third = (remember(db, number) for number in (1, 2, 3))
    assert not index.read_on(db, 2)
    index.put(third, MEI[0], direction(9))
    index.discard(first)
    assert index.read_on(db, 2)
    assert set(index.search(direction(1), MEI).nearest(9)) == {second, third}
    assert index.search(direction(9), MEI).of([third])[third] > 0.98
