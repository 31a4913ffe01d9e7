"""firmware/node/ring.py under CPython: what an interrupt may do to it at any moment."""

from typing import Any

import pytest

from tests.firmware.node_on_cpython import node_module

with node_module("ring") as loaded:
    RING = loaded

SIZE = 32


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> Any:
    ticks = iter(range(100_000))
    monkeypatch.setattr(RING, "ticks_ms", lambda: next(ticks))
    return RING.Ring()


def taken(ring: Any) -> list[tuple[int, int, int]]:
    found = []
    while ring.take():
        found.append((ring.index, ring.level, ring.at_ms))
    return found


def test_edges_come_out_as_they_went_in(ring: Any) -> None:
    ring.put(3, 1)
    ring.put(31, 0)
    assert taken(ring) == [(3, 1, 0), (31, 0, 1)]
    assert taken(ring) == []


def test_it_goes_round(ring: Any) -> None:
    for number in range(10 * SIZE):
        ring.put(number % 30, number % 2)
        assert taken(ring) == [(number % 30, number % 2, number)]


def test_its_places_stay_small_integers(ring: Any) -> None:
    # One that grows needs memory after 2^30 edges, which an interrupt has not
    for _ in range(10 * SIZE):
        ring.put(1, 1)
        assert len(taken(ring)) == 1
    assert max(ring._head, ring._tail) < 2 * SIZE


def test_what_has_no_room_is_counted_by_its_pin(ring: Any) -> None:
    for _ in range(SIZE):
        ring.put(1, 1)
    ring.put(2, 1)
    ring.put(2, 0)
    assert len(taken(ring)) == SIZE
    assert (ring.lost[1], ring.lost[2]) == (0, 2)


def test_cleared_it_knows_nothing(ring: Any) -> None:
    for _ in range(SIZE + 1):
        ring.put(1, 1)
    ring.clear()
    assert (taken(ring), ring.lost[1]) == ([], 0)
