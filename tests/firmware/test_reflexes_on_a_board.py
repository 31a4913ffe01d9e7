"""Reflexes in the real interpreter, as the record of the world has them."""

import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.link import frame as codec
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import ROOT, BoardSim
from tests.firmware.conftest import simulated
from tests.firmware.garden import ACTIVE, BELOW, DELETE, EQUAL, GET, LIST, PUT, STORED, rule
from tests.firmware.methods import LATE_MS, ON, PINS, switch
from tests.waits import stays_sync, wait_until_sync

DRY_MV = 1200
WORLD = {"values": {"a0": 2.0, "button": 0}}
PUMP, LED, SOIL, BUTTON = (PINS[name][0] for name in ("pump", "led", "a0", "button"))
DRY = (SOIL, BELOW, DRY_MV, 0)
# The world notes a change after the board has made it: on a busy machine the first one later
NOTED_LATE_MS = 50


@pytest.fixture
def garden(tmp_path: Path) -> Iterator[BoardSim]:
    with simulated(tmp_path, WORLD) as board:
        yield board


def put(wire: Wire, raw: bytes) -> int:
    return wire.call(codec.METHOD_REFLEX, bytes([PUT, 255]) + raw)[0]


def on_times(board: BoardSim) -> list[tuple[int, int]]:
    """When the pump went on, and for how long, in milliseconds."""
    changes = board.changes("pump")
    return [
        (on_ms, off_ms - on_ms)
        for (value, on_ms), (_, off_ms) in itertools.pairwise(changes)
        if value
    ]


def test_a_rule_acts_when_the_agent_was_killed(garden: BoardSim, tmp_path: Path) -> None:
    watering = {
        "name": "watering",
        "when": [
            {"reading": "soil", "comparison": "below", "value": 1.2},
            {"reading": "button", "comparison": "equal", "value": "on"},
        ],
        "output": "pump",
        "value": "on",
        "for_s": 0.7,
        "every_s": 2,
    }
    command = [sys.executable, "-m", "tests.fakes.gardener", str(garden.port), str(tmp_path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write(json.dumps([watering]).encode() + b"\n")
        agent.stdin.flush()
        assert agent.stdout.readline() == b"taught\n"
        agent.send_signal(signal.SIGKILL)
    garden.set(a0=0.9)
    # What the agent held is off, and one condition is not enough
    stays_sync(lambda: on_times(garden) == [], 0.8)
    wait_until_sync(lambda: garden.value("led") == 0)
    garden.set(button=1)
    wait_until_sync(lambda: on_times(garden))
    ((on_ms, for_ms),) = on_times(garden)
    assert 700 - NOTED_LATE_MS <= for_ms <= 700 + LATE_MS
    wait_until_sync(lambda: len(on_times(garden)) > 1)
    second_ms, _ = on_times(garden)[1]
    assert second_ms - on_ms >= 2000 - NOTED_LATE_MS


def test_a_new_session_and_a_silent_pi_leave_a_rule_to_its_time(garden: BoardSim) -> None:
    with Wire(str(garden.port)) as wire:
        wire.greet()
        put(wire, rule(DRY, output=PUMP, for_ms=1500, every_s=60))
        garden.set(a0=1.0)
        wait_until_sync(lambda: garden.value("pump") == 1)
        switch(wire, "led", ON)
        wire.greet()
        assert (garden.value("led"), garden.value("pump")) == (0, 1)
    wait_until_sync(lambda: on_times(garden))
    ((_, for_ms),) = on_times(garden)
    assert 1500 - NOTED_LATE_MS <= for_ms <= 1500 + LATE_MS


def test_an_emergency_stop_ends_every_rule_until_it_is_cleared(garden: BoardSim) -> None:
    with Wire(str(garden.port)) as wire:
        wire.greet()
        put(wire, rule(DRY, output=PUMP, for_ms=900, every_s=1))
        garden.set(a0=1.0)
        wait_until_sync(lambda: garden.value("pump") == 1)
        wire.send(codec.ESTOP)
        assert list(wire.frames(0.1))
        assert garden.value("pump") == 0
        stays_sync(lambda: len(on_times(garden)) == 1, 2.2)
        wire.greet()
        wire.call(codec.METHOD_CLEAR, bytes([codec.REASON_ESTOP]))
        wait_until_sync(lambda: len(on_times(garden)) == 2)


def test_rules_are_read_back_and_taken_away(garden: BoardSim) -> None:
    raw = rule(DRY, (BUTTON, EQUAL, 1, 0), output=PUMP)
    with Wire(str(garden.port)) as wire:
        wire.greet()
        slot = put(wire, raw)
        assert wire.call(codec.METHOD_REFLEX, bytes([GET, slot])) == raw
        wire.call(codec.METHOD_REFLEX, bytes([DELETE, slot]))
        with pytest.raises(Refused) as refused:
            wire.call(codec.METHOD_REFLEX, bytes([GET, slot]))
        assert refused.value.code == codec.OUT_OF_RANGE
        with pytest.raises(Refused, match="1 s to 7 days"):
            put(wire, rule(DRY, output=PUMP, every_s=0))
        with pytest.raises(Refused, match="1 to 10000 ms"):
            put(wire, rule(DRY, output=PUMP, for_ms=10_001, every_s=60))


def test_rules_outlive_the_loss_of_power(tmp_path: Path) -> None:
    with simulated(tmp_path, WORLD, tmp_path / "flash") as garden:
        with Wire(str(garden.port)) as wire:
            wire.greet()
            put(wire, rule(DRY, output=PUMP, for_ms=500, every_s=2))
            wait_until_sync(lambda: wire.call(codec.METHOD_REFLEX, bytes([LIST]))[0] == STORED)
        garden.kill()
        (tmp_path / "world.json").write_text(json.dumps({"values": {"a0": 1.0}}))
        garden.start()
        stays_sync(lambda: on_times(garden) == [], 1.5)
        with Wire(str(garden.port)) as wire:
            wire.greet()
            assert wire.call(codec.METHOD_REFLEX, bytes([LIST]))[2] == ACTIVE
        wait_until_sync(lambda: len(on_times(garden)) == 1)
