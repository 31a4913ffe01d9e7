"""The simulated hardware while the loop and the interrupt, two threads, drive the same pin.

The record is what every test of the safe state believes: its last word must be the pin's level.
"""

import itertools
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.firmware.every_step import stopped_before
from tests.firmware.simulator_on_cpython import SIMULATOR, simulated_machine

# The loop gets so long to come in between; where it may not, that is waited in vain
CHANCE_S = 0.01
FULL = 65535


class World:
    """Keeps the record."""

    def __init__(self) -> None:
        self.record: list[float] = []

    def record_pin(self, _pin: str, level: int) -> None:
        self.record.append(level)

    def record_pwm(self, _pin: str, _hz: int, duty: float) -> None:
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
def test_the_record_ends_with_the_level_wherever_two_threads_meet(name: str, first: int) -> None:
    make, drive = HARDWARE[name]
    world = World()
    with simulated_machine(world) as machine:
        for step in itertools.count(1):
            made = make(machine)

            # The interrupt ends it; the loop notes that and switches it on again
            def other(made: Any = made) -> None:
                drive(made, 0)
                drive(made, 1)

            thread = threading.Thread(target=other)

            def come_between(thread: threading.Thread = thread) -> None:
                thread.start()
                thread.join(CHANCE_S)

            if not stopped_before(step, SIMULATOR, partial(drive, made, first), come_between):
                break
            thread.join()
            assert world.record[-1] == bool(drive(made))
    assert step > 10
