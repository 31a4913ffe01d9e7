"""The simulated hardware while the loop and an interrupt drive the same pin.

The record is what every test of the safe state believes: its last word must be the pin's level.
"""

import itertools
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.firmware.every_step import stopped_before
from tests.firmware.simulator_on_cpython import SIMULATOR, simulated_machine

FULL = 65535


class World:
    """Keeps the record."""

    def __init__(self) -> None:
        self.record: list[float] = []

    def record_pin(self, _pin: str, level: int) -> None:
        self.record.append(level)

    def record_pwm(self, _pin: str, _hz: int, duty: float, *_: object) -> None:
        self.record.append(duty)

    def level(self, _pin: str, driven: int | None, _idle: int) -> int | None:
        return driven


def pin(machine: Any) -> Any:
    made = machine.Pin("PC13", machine.Pin.OUT, value=0)
    made.value(1)
    return made


def pwm_of_a(machine: Any) -> Any:
    return machine.PWM(machine.Pin("PA8"), freq=1000, duty_u16=FULL)


# How to make one, drive it to a level, and ask it
HARDWARE: dict[str, tuple[Callable[[Any], Any], Callable[..., Any]]] = {
    "pin": (pin, lambda made, *level: made.value(*level)),
    "pwm": (pwm_of_a, lambda made, *level: made.duty_u16(*(part * FULL for part in level))),
}


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("name", HARDWARE)
def test_the_record_ends_with_the_level_wherever_an_interrupt_comes(name: str, first: int) -> None:
    make, drive = HARDWARE[name]
    world = World()
    faults: list[Exception] = []
    with simulated_machine(world) as machine:
        for step in itertools.count(1):
            made = make(machine)

            # It ends the output, as a lease that is over, and switches it on again
            def callback(_argument: None, made: Any = made) -> None:
                drive(made, 0)
                drive(made, 1)

            interrupt = sys.modules["interrupts"].Interrupt(callback, faults.append)
            fire = partial(interrupt.fire, None)
            if not stopped_before(step, SIMULATOR, partial(drive, made, first), fire):
                break
            assert world.record[-1] == bool(drive(made))
    assert step > 10
    assert faults == []
