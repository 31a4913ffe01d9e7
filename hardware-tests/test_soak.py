"""A board that is kept busy: it answers everything, never restarts, loses no memory."""

import random
import statistics
import struct
import time
from typing import Any

import pytest

from agent.link import frame as codec
from firmware.host.wire import Wire
from tests.fakes.board_sim import BoardSim

SHORT_SOAK_S = 2.0
WARM_UP_S = 0.5
# Of the simulated board's heap: what a collection may find differently placed
HEAP_SLACK_BYTES = 2_048
# At 115200 baud a call takes 5 ms; the rest is a collection and a computer that is busy
SLOWEST_MS = 400


def test_a_busy_board_stays_itself(
    rig: Any,
    simulated: BoardSim | None,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    wanted_s = request.config.getoption("--soak") or (SHORT_SOAK_S if simulated else 0)
    if not wanted_s:
        pytest.skip("a soak of a real board takes as long as you say: --soak 3600")
    wire, calls = rig.wire, harmless_calls(rig)
    keep_busy(wire, calls, WARM_UP_S)
    dropped, free = wire.status()[4], heap_free(simulated)
    uptime_ms, began_s = wire.status()[1], time.monotonic()
    taken_ms = keep_busy(wire, calls, wanted_s)
    lived_ms, passed_ms = wire.status()[1] - uptime_ms, (time.monotonic() - began_s) * 1000
    told = (
        f"{len(taken_ms)} calls, median {statistics.median(taken_ms):.2f} ms, slowest"
        f" {max(taken_ms):.1f} ms, the board's clock is off by {lived_ms / passed_ms - 1:+.2%}"
    )
    with capsys.disabled():
        print(f"\nsoak: {told}")  # noqa: T201 - what a soak is run for
    # A restart begins anew at 0
    assert lived_ms == pytest.approx(passed_ms, rel=0.02, abs=100)
    assert wire.status()[4] == dropped, "frames were damaged on the way"
    assert max(taken_ms) < SLOWEST_MS
    assert free - heap_free(simulated) <= HEAP_SLACK_BYTES


def harmless_calls(rig: Any) -> list[tuple[int, bytes]]:
    """Everything that reads and needs a pin or nothing, and the led."""
    calls = [(codec.METHOD_STATUS, b""), (codec.METHOD_LEASE_RENEW, struct.pack("<I", 0))]
    manifest = rig.manifest
    for one in manifest["methods"]:
        fields = one.get("arguments", [])
        if one["safety"] != "read" or any("pins" not in field for field in fields):
            continue
        for field in fields[:1]:
            able = [pin for pin in manifest["pins"] if field["pins"] in pin["can"]]
            calls += [(one["id"], bytes([pin["index"]])) for pin in able]
        if not fields:
            calls.append((one["id"], b""))
    for pin in manifest["pins"]:
        if pin["name"] == "led":
            number = rig.method("gpio_write")
            calls += [(number, bytes([pin["index"], value])) for value in (1, 0)]
    return calls


def keep_busy(wire: Wire, calls: list[tuple[int, bytes]], seconds: float) -> list[float]:
    chance = random.Random(1)
    taken_ms = []
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        number, arguments = chance.choice(calls)
        began_s = time.monotonic()
        wire.call(number, arguments)
        taken_ms.append((time.monotonic() - began_s) * 1000)
    return taken_ms


def heap_free(simulated: BoardSim | None) -> int:
    return int(simulated.order({"get": True})["heap_free"]) if simulated else 0
