"""The ramp of a stepper that accelerates slowly to a high speed, beat by beat under CPython."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.firmware.node_on_cpython import node_module

MOVING, TRAVEL, TURN_AT = 0, 1_000_000, 40_000
SPEED = 2_000


class Pin:
    IN, OUT, PULL_UP = range(3)

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def value(self, _level: int | None = None) -> int:
        return 0


class Timer:
    period_us = 0

    def __init__(self, _number: int) -> None:
        self.source_freq = lambda: 84_000_000
        self.init = self.counter = lambda *_, **__: None

    def period(self, period_us: int) -> None:
        self.period_us = period_us


def stepper(acceleration: int) -> Any:
    entry = {
        "pin": "PA8",
        "direction": "PA9",
        "enable": "PA10",
        "timer": 7,
        "travel": TRAVEL,
        "speed": SPEED,
        "acceleration": acceleration,
        "home_speed": 100,
        "enable_high": 1,
        "stops_close": 0,
    }
    stand_ins: dict[str, Any] = {
        "board": SimpleNamespace(DEADMAN_TIMER=1),
        "machine": SimpleNamespace(Pin=Pin),
        "pyb": SimpleNamespace(Timer=Timer),
    }
    with node_module("devices.stepper", **stand_ins) as module:
        return module.Stepper(entry)


def send(made: Any, target: int) -> None:
    made._wanted = (MOVING, target)
    made.value(1)


@pytest.mark.parametrize("acceleration", [250, 400, 800, 20_000])
def test_it_reaches_its_speed_and_turns_around_as_soon_as_it_can(acceleration: int) -> None:
    made = stepper(acceleration)
    send(made, TRAVEL)
    while made._position < TURN_AT:
        made._beat(None)
    assert made._timer.period_us == 1_000_000 // SPEED
    send(made, 0)
    while made._way > 0:
        made._beat(None)
    shortest = SPEED * SPEED // (2 * acceleration)
    assert made._position - TURN_AT < 1.5 * shortest
    # Slow enough to stand still in the next step
    assert made._timer.period_us == pytest.approx(made._first // 16, rel=0.01)
    while made._is_running:
        made._beat(None)
    assert made._position == 0
