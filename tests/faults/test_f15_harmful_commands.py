"""F15: commands that would hurt the hardware: no frames, at any speed, beat the limits of a pin."""

import hashlib
import itertools
import json
import random
import struct
import time

import pytest

from agent.link import frame as codec
from firmware.host.bundle import board_file
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim

GPIO_WRITE = 16
LEASE_MS, MAX_ON_MS, MIN_OFF_MS, PER_MINUTE = 1_000, 250, 150, 9
GRACE_MS = 50
# Written down by the firmware's clock and by the record's: a tick each
TICK_MS = 2
VALVE: dict[str, object] = {
    "name": "valve",
    "kind": "output",
    "pin": "PB0",
    "lease_ms": LEASE_MS,
    "needs": [["button", 0]],
}
LIMITS = {"max_on_ms": MAX_ON_MS, "min_off_ms": MIN_OFF_MS, "per_minute": PER_MINUTE}
# What a refusal may say: an interlock, or a limit
REASONS = {codec.INTERLOCK, codec.BUSY_CODE, codec.OUT_OF_RANGE}
INDEX = bytes([len(board_file("simulated").PINS)])
TRIED_S = 6.0


def configure(wire: Wire, *entries: dict[str, object]) -> None:
    text = json.dumps({"v": 1, "pins": entries}, sort_keys=True, separators=(",", ":")).encode()
    digest = hashlib.sha256(text).digest()[:8]
    wire.call(codec.METHOD_CONFIG_BEGIN, struct.pack("<I", len(text)) + digest)
    for at in range(0, len(text), 200):
        wire.call(codec.METHOD_CONFIG_WRITE, struct.pack("<I", at) + text[at : at + 200])
    wire.call(codec.METHOD_CONFIG_COMMIT, digest)


def ask(wire: Wire, chance: random.Random) -> int:
    """One of everything that a host may send; the code of the answer."""
    method, arguments = chance.choice(
        [
            *[(GPIO_WRITE, INDEX + b"\1")] * 4,
            (GPIO_WRITE, INDEX + b"\0"),
            (codec.METHOD_LEASE_RENEW, struct.pack("<I", 0xFFFFFFFF)),
            (codec.METHOD_SAFE, b""),
        ]
    )
    try:
        wire.call(method, arguments)
    except Refused as refusal:
        return refusal.code
    return codec.OK


def spans(changes: list[tuple[int, int]], value: int) -> list[int]:
    """How long it stayed at that value, each time but for the last."""
    pairs = itertools.pairwise(changes)
    return [until - since for (now, since), (_, until) in pairs if now == value]


def test_no_sequence_of_frames_takes_a_pin_past_its_limits(sim: BoardSim) -> None:
    chance = random.Random(15)
    codes: set[int] = set()
    with Wire(str(sim.port)) as wire:
        wire.greet()
        configure(wire, VALVE | LIMITS)
        until_s = time.monotonic() + TRIED_S
        while time.monotonic() < until_s:
            codes.add(ask(wire, chance))
            # Any speed: as fast as it goes, in the rhythm of the limits, with pauses
            time.sleep(chance.choice((0, 0, 0, 0.02, 0.1)))
            if chance.random() < 0.01:
                wire.greet()
        wire.call(codec.METHOD_SAFE)
    changes = [(value, at_ms) for value, at_ms in sim.changes("valve")]
    switched_on = [at_ms for value, at_ms in changes if value]
    assert codes - {codec.OK} <= REASONS
    assert len(codes) > 1
    assert 3 <= len(switched_on) <= PER_MINUTE
    assert max(spans(changes, 1)) <= MAX_ON_MS + 10 * GRACE_MS
    assert min(spans(changes, 0)[1:]) >= MIN_OFF_MS - TICK_MS


def test_an_interlock_refuses_and_ends_what_it_forbids(sim: BoardSim) -> None:
    with Wire(str(sim.port)) as wire:
        wire.greet()
        configure(wire, VALVE)
        assert wire.call(GPIO_WRITE, INDEX + b"\1") == b"\1"
        sim.set(button=1)
        wire.rest(GRACE_MS / 1000)
        assert sim.value("valve") == 0
        with pytest.raises(Refused, match="button") as refused:
            wire.call(GPIO_WRITE, INDEX + b"\1")
    assert refused.value.code == codec.INTERLOCK
