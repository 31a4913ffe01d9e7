"""An infrared receiver: codes by their bursts, exactly, and once in the real interpreter."""

import struct
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import pytest

from agent.readings.rule_program import TICKS_PERIOD
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import change
from tests.firmware.node_on_cpython import node_module
from tests.firmware.sensing import Answer, sensed

INFRARED_READ = 53
REMOTE: dict[str, Any] = {"name": "remote", "kind": "infrared", "pin": "PB5"}
UNIT_US = 562.5
# As receivers have it: a long pause before the first burst
QUIET_US = 50_000.0
# 0x00, its opposite, 0x45, its opposite: the upper left button of the small remote controls
CODE = (0x00, 0xFF, 0x45, 0xBA)


class Line:
    """Stands in for the pin: what the driver asks for when its line falls."""

    def __init__(self, *_: Any) -> None:
        self.handler: Any = None

    IN, PULL_UP, IRQ_FALLING = range(3)

    def irq(self, handler: Any, *_: Any, **__: Any) -> None:
        self.handler = handler


class Receiver:
    """The driver, and the bursts that reach it."""

    def __init__(self, module: Any) -> None:
        self.now_us = 0.0
        module.ticks_us = lambda: int(self.now_us)
        module.ticks_ms = lambda: int(self.now_us / 1000)
        self.driver = module.Infrared({"pin": "PB5"})

    def hear(self, falls_after_us: Sequence[float], stretch: float = 1.0) -> None:
        """Let the line fall after each of these times, and the loop come around."""
        for gap_us in falls_after_us:
            self.now_us += gap_us * stretch
            self.driver._edge(None)
        self.driver.tick(int(self.now_us / 1000))

    def told(self) -> tuple[int, ...]:
        answer = bytearray(32)
        size = self.driver.handlers()[INFRARED_READ](b"", answer, None)
        return struct.unpack("<IIHBHI" if size == 17 else "<II", answer[3 : 3 + size])


def bursts(data: Sequence[int], quiet_us: float = QUIET_US) -> list[float]:
    """The times between the falls of a whole code."""
    bits = [byte >> at & 1 for byte in data for at in range(8)]
    return [quiet_us, 24 * UNIT_US, *(UNIT_US * (4 if bit else 2) for bit in bits)]


HELD = [40_000.0, 20 * UNIT_US]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    machine: Any = ModuleType("machine")
    machine.Pin = Line
    with node_module("devices.infrared", machine=machine) as module:
        yield Receiver(module)


def test_before_the_first_code_there_is_only_a_count(receiver: Receiver) -> None:
    assert receiver.told() == (0, 0)
    assert receiver.driver.value(0) == 0
    assert receiver.driver.value(3) is None


def test_a_button_is_told_with_how_long_it_is_held(receiver: Receiver) -> None:
    receiver.hear(bursts(CODE))
    assert receiver.told() == (1, 0, 0x00, 0x45, 0, 0)
    receiver.hear(HELD)
    receiver.hear(HELD)
    assert receiver.told()[:5] == (1, 0, 0x00, 0x45, 2)
    receiver.now_us += 1_500_000
    assert receiver.told()[5] == 1_500
    # A repetition so late belongs to a code that was not heard
    receiver.hear(HELD)
    assert receiver.told()[:5] == (1, 0, 0x00, 0x45, 2)


def test_a_button_of_weeks_ago_was_not_pressed_just_now(receiver: Receiver) -> None:
    receiver.hear(bursts(CODE))
    heard_ms = int(receiver.now_us / 1000)
    for hours in range(1, 24 * 30):
        receiver.now_us = (heard_ms + hours * 3_600_000) * 1000 % (TICKS_PERIOD * 1000)
        receiver.driver.tick(int(receiver.now_us / 1000))
        assert receiver.told()[5] == 3_600_000, f"after {hours} hours"


def test_an_address_of_two_bytes_is_told_whole(receiver: Receiver) -> None:
    receiver.hear(bursts((0x34, 0x12, 0x0F, 0xF0)))
    assert receiver.told()[:4] == (1, 0, 0x1234, 0x0F)


@pytest.mark.parametrize("stretch", [0.93, 1.1])
def test_a_remote_control_with_a_clock_of_its_own_is_understood(
    receiver: Receiver, stretch: float
) -> None:
    for _ in range(3):
        receiver.hear(bursts(CODE), stretch)
    assert receiver.told()[:4] == (3, 0, 0x00, 0x45)


@pytest.mark.parametrize("at", range(16, 32))
def test_a_command_without_its_opposite_is_damaged_and_nothing_else(
    receiver: Receiver, at: int
) -> None:
    receiver.hear(bursts(CODE))
    wrong = list(CODE)
    wrong[at // 8] ^= 1 << at % 8
    receiver.hear(bursts(wrong))
    assert receiver.told()[:4] == (1, 1, 0x00, 0x45)


def test_noise_and_codes_that_are_cut_are_no_button(receiver: Receiver) -> None:
    whole = bursts(CODE)
    for length in range(2, len(whole)):
        receiver.hear(whole[:length])
    for at in range(2, len(whole)):
        receiver.hear([*whole[:at], 300.0, *whole[at:]])
    receiver.hear([700.0] * 200)
    receiver.hear([3_000.0] * 200)
    assert receiver.told() == (0, 0)
    receiver.hear(whole)
    assert receiver.told()[:4] == (1, 0, 0x00, 0x45)


def test_a_button_reaches_the_pi_from_the_real_interpreter(sensor_board: BoardSim) -> None:
    with sensed(sensor_board, INFRARED_READ, "IIHBHI", REMOTE) as remote:

        def heard(told: Answer) -> bool:
            # A busy computer may stretch its bursts: pressed again, as a person does
            if isinstance(told, str) or len(told) < 6 or told[2:4] != (0x00, 0x45):
                change(sensor_board, "infrared", press=[0x00, 0x45])
                return False
            return True

        told = remote.until(heard, limit_s=30)
        assert told[2:4] == (0x00, 0x45), told
    assert not [one for one in sensor_board.record() if one["event"] == "interrupt_fault"]
