"""Outputs as a second board sees them, by its own clock: how long they are on."""

import time
from typing import Any

import pytest

from agent.link import frame as codec

GRACE_MS = 50
SILENCE_MS = 500
# The host hears of an edge over 115200 baud, on each side
HEARD_MS = 60
# Two clocks of crystals, and of a simulated wire the time between two looks
CLOCKS_MS = 10
TIMES = 10
_LIMIT_S = 8.0
_ON_FOR_S = 0.02


def seen_at(source: dict[str, Any], target: dict[str, Any], value: int) -> int:
    """Return the level at the far end of a wire when `source` has this value."""
    return value ^ source.get("active_low", False) ^ target.get("active_low", False)


def on_for_ms(bench: Any, source: dict[str, Any], target: dict[str, Any], since: int) -> int:
    """Return how long an output was on, which it was once."""
    edges = bench.tester.edges(target["index"], since, 2, _LIMIT_S)
    expected = [seen_at(source, target, 1), seen_at(source, target, source["safe"])]
    assert [edge.value for edge in edges] == expected, source["name"]
    return int(edges[1].at_ms - edges[0].at_ms)


def test_every_edge_arrives(bench: Any) -> None:
    for source, target in bench.pairs:
        since = bench.tester.mark(target["index"])
        for value in [1, 0] * TIMES:
            bench.rig.write(source, value)
            bench.rig.wire.rest(_ON_FOR_S)
        edges = bench.tester.edges(target["index"], since, 2 * TIMES, _LIMIT_S)
        expected = [seen_at(source, target, value) for value in [1, 0] * TIMES]
        assert [edge.value for edge in edges] == expected, source["name"]


def test_a_lease_ends_in_time(bench: Any) -> None:
    """Asking goes on, so that it is the lease that ends and not the patience with a silent host."""
    for source, target in bench.pairs:
        since = bench.tester.mark(target["index"])
        bench.rig.write(source, 1)
        bench.rig.wire.rest(source["lease_ms"] / 1000 + 2 * GRACE_MS / 1000)
        taken_ms = on_for_ms(bench, source, target, since)
        most_ms = source["lease_ms"] + GRACE_MS + CLOCKS_MS
        bench.note(f"lease of {source['name']}", taken_ms, f"<= {most_ms}")
        assert source["lease_ms"] - GRACE_MS - CLOCKS_MS <= taken_ms <= most_ms


def test_a_silent_host_ends_it_before_the_lease(bench: Any) -> None:
    for source, target in bench.pairs:
        if source["lease_ms"] <= SILENCE_MS + 2 * GRACE_MS:
            pytest.skip(f"the lease of {source['name']} ends before the patience with a host")
        since = bench.tester.mark(target["index"])
        bench.rig.write(source, 1)
        # Not a word from here
        taken_ms = on_for_ms(bench, source, target, since)
        most_ms = SILENCE_MS + GRACE_MS + CLOCKS_MS
        bench.note(f"{source['name']} after the host's last word", taken_ms, f"<= {most_ms}")
        assert taken_ms <= most_ms


def test_an_estop_ends_it_at_once(bench: Any) -> None:
    for source, target in bench.pairs:
        since = bench.tester.mark(target["index"])
        bench.rig.write(source, 1)
        began_s = time.monotonic()
        bench.rig.wire.send(codec.ESTOP)
        on_for_ms(bench, source, target, since)
        edges = bench.tester.edges(target["index"], since, 2, _LIMIT_S)
        heard_ms = (edges[1].heard_s - began_s) * 1000
        most_ms = GRACE_MS + HEARD_MS
        bench.note(f"{source['name']} after an emergency stop, heard of", heard_ms, f"<= {most_ms}")
        assert heard_ms <= most_ms
        bench.rig.wire.clear()


def test_the_far_end_sees_no_other_edge(bench: Any) -> None:
    """A configuration that is read, a greeting and a refusal move nothing."""
    for source, target in bench.pairs:
        since = bench.tester.mark(target["index"])
        bench.rig.wire.greet()
        bench.rig.wire.manifest()
        bench.rig.wire.rest(2 * GRACE_MS / 1000)
        assert bench.tester.edges(target["index"], since, 1, GRACE_MS / 1000) == [], source["name"]
