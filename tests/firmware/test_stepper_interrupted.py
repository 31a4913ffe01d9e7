"""A beat of the stepper's timer between any two bytecodes of what gives it another target."""

import itertools
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from firmware.host.bundle import FIRMWARE
from tests.firmware.every_step import stopped_before
from tests.firmware.node_on_cpython import node_module

IDLE_US = 60_000
MOVING = 0
ENTRY = {
    "pin": "PA8",
    "direction": "PA9",
    "enable": "PA10",
    "travel": 10_000,
    "speed": 2_000,
    "acceleration": 20_000,
    "home_speed": 100,
    "enable_high": 1,
    "stops_close": 0,
    "timer": 7,
}


class Pin:
    IN, OUT, PULL_UP = range(3)

    def __init__(self, _name: str, _mode: int, *, value: int = 0) -> None:
        self.level = value

    def value(self, level: int | None = None) -> int:
        self.level = self.level if level is None else int(level)
        return self.level


class Timer:
    def __init__(self, _number: int) -> None:
        self.periods_us: list[int] = []

    def source_freq(self) -> int:
        return 84_000_000

    def init(self, **_options: Any) -> None:
        pass

    def period(self, period_us: int) -> None:
        self.periods_us.append(period_us)

    def counter(self, _value: int) -> None:
        pass


def at_full_speed() -> Any:
    stand_ins: dict[str, Any] = {
        "board": SimpleNamespace(DEADMAN_TIMER=1),
        "machine": SimpleNamespace(Pin=Pin),
        "pyb": SimpleNamespace(Timer=Timer),
    }
    with node_module("devices.stepper", **stand_ins) as module:
        made = module.Stepper(ENTRY)
    made._wanted = (MOVING, 5_000)
    made.value(1)
    for _ in range(1_000):
        made._beat(None)
    return made


@pytest.mark.parametrize("target", [9_000, 1_200, 10])
def test_another_target_on_the_way_is_no_halt(target: int) -> None:
    for step in itertools.count(1):
        stepper = at_full_speed()
        fastest_us = stepper._timer.periods_us[-1]
        stepper._timer.periods_us.clear()
        stepper._wanted = (MOVING, target)
        go_on = partial(stepper.value, 1)
        if not stopped_before(step, str(FIRMWARE / "node"), go_on, partial(stepper._beat, None)):
            assert step > 10
            return
        # Standing still for so long in one step, a motor loses many
        assert stepper._timer.periods_us == [pytest.approx(fastest_us, rel=0.1)]
        while stepper._is_running:
            stepper._beat(None)
        assert stepper._position == target
