"""Outputs as a wire to an input sees them: what is driven, and when it becomes safe."""

import time
from typing import Any

from agent.link import frame as codec

GRACE_MS = 50
# Reading over 115200 baud takes a few milliseconds on each side
READ_MS = 30
TIMES = 20

Pin = dict[str, Any]
Jumpers = list[tuple[Pin, Pin]]


def test_a_wire_carries_both_levels_every_time(rig: Any, jumpers: Jumpers) -> None:
    for source, target in jumpers:
        for value in [1, 0] * TIMES:
            assert rig.write(source, value) == value
            assert rig.read(target) == seen_at(source, target, value), source["name"]


def test_no_wire_sees_another_ones_output(rig: Any, jumpers: Jumpers) -> None:
    for source, _ in jumpers:
        rig.write(source, 1)
        for other, far in jumpers:
            expected = 1 if other is source else other["safe"]
            assert rig.read(far) == seen_at(other, far, expected)
        rig.write(source, 0)


def test_the_far_end_is_safe_when_the_lease_ends(rig: Any, jumpers: Jumpers) -> None:
    """Asking goes on, so that it is the lease that ends and not the patience with a silent host."""
    for source, target in jumpers:
        began_s = time.monotonic()
        rig.write(source, 1)
        taken_ms = safe_after(rig, source, target, began_s)
        assert source["lease_ms"] - GRACE_MS <= taken_ms
        assert taken_ms <= source["lease_ms"] + GRACE_MS + 2 * READ_MS


def test_the_far_end_is_safe_at_once_after_an_estop(rig: Any, jumpers: Jumpers) -> None:
    for source, target in jumpers:
        rig.write(source, 1)
        began_s = time.monotonic()
        rig.wire.send(codec.ESTOP)
        assert safe_after(rig, source, target, began_s) <= GRACE_MS + 2 * READ_MS
        rig.wire.clear()


def safe_after(rig: Any, source: Pin, target: Pin, began_s: float) -> float:
    """Milliseconds until the far end reads the safe value; for ever is a failure elsewhere."""
    give_up_s = began_s + source["lease_ms"] / 1000 + 2.0
    while time.monotonic() < give_up_s:
        if rig.read(target) == seen_at(source, target, source["safe"]):
            break
    return (time.monotonic() - began_s) * 1000


def seen_at(source: Pin, target: Pin, value: int) -> int:
    """Return the level at the far end of a wire when `source` has this value."""
    return value ^ source.get("active_low", False) ^ target.get("active_low", False)
