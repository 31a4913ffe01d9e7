"""When a rule of the board holds, and which rules it takes, under CPython."""

import pytest

from agent.link import frame as wire
from tests.firmware.garden import (
    ABOVE,
    ACTIVE,
    BELOW,
    DRY,
    EMPTY,
    EQUAL,
    FAN,
    FULL,
    PUT,
    SOIL,
    TANK,
    UNEQUAL,
    Garden,
    rule,
)


@pytest.fixture
def garden() -> Garden:
    return Garden()


def test_every_condition_must_hold(garden: Garden) -> None:
    garden.put(rule(DRY, FULL))
    garden.values.update({SOIL: 0, TANK: 0})
    garden.run(1)
    garden.values.update({SOIL: 400, TANK: 1})
    garden.run(1)
    assert garden.switched_on() == 0


@pytest.mark.parametrize(
    ("comparison", "slack", "values", "expected"),
    [
        (BELOW, 10, [300, 299, 305, 310, 305], "01100"),
        (ABOVE, 10, [300, 301, 295, 290, 295], "01100"),
        (EQUAL, 0, [299, 300, 301], "010"),
        (EQUAL, 5, [294, 295, 305, 306], "0110"),
        (UNEQUAL, 5, [294, 295, 305, 306], "1001"),
    ],
)
def test_a_comparison_holds_with_its_hysteresis(
    comparison: int, slack: int, values: list[int], expected: str
) -> None:
    garden = Garden()
    garden.put(rule((SOIL, comparison, 300, slack), for_ms=1, every_s=1))
    seen = ""
    for value in values:
        garden.values[SOIL] = value
        # Long enough for whatever holds to act again
        garden.run(0.05)
        before = garden.switched_on()
        garden.run(2.5)
        seen += "1" if garden.switched_on() > before else "0"
    assert seen == expected


def test_conditions_are_held_without_a_break(garden: Garden) -> None:
    garden.put(rule(held_ms=2000))
    for _ in range(3):
        garden.values[SOIL] = 0
        garden.run(1.9)
        garden.values[SOIL] = 500
        garden.run(0.1)
    assert garden.switched_on() == 0
    garden.values[SOIL] = 0
    garden.run(2.1)
    assert garden.is_on()


def test_a_sensor_that_fails_says_nothing(garden: Garden) -> None:
    garden.put(rule())
    garden.values[SOIL] = 0
    garden.is_broken = True
    garden.run(1)
    garden.is_broken = False
    garden.values[SOIL] = None
    garden.run(1)
    assert garden.switched_on() == 0
    assert garden.states()[0][:4] == (ACTIVE, 0, 0, wire.IO)


def test_the_clock_goes_around_unnoticed() -> None:
    garden = Garden()
    garden.put(rule())
    for _ in range(3000):
        garden.step(400_000)
    garden.values[SOIL] = 0
    garden.step(10)
    assert garden.is_on()
    garden.run(1)
    assert not garden.is_on()


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (rule(output=TANK), wire.BAD_PIN),
        (rule(output=77), wire.BAD_PIN),
        (rule((9, BELOW, 1, 0)), wire.BAD_PIN),
        (rule((SOIL, BELOW | 1 << 4, 1, 0)), wire.BAD_PIN),
        (rule((SOIL, 4, 1, 0)), wire.OUT_OF_RANGE),
        (rule((SOIL, BELOW, 1, -1)), wire.OUT_OF_RANGE),
        (rule(conditions=0), wire.OUT_OF_RANGE),
        (rule(conditions=3), wire.OUT_OF_RANGE),
        (rule(enabled=2), wire.OUT_OF_RANGE),
        (rule(value=2), wire.OUT_OF_RANGE),
        (rule(value=-1), wire.OUT_OF_RANGE),
        (rule(output=FAN, value=1001), wire.OUT_OF_RANGE),
        (rule(for_ms=0), wire.OUT_OF_RANGE),
        (rule(for_ms=10_001, every_s=60), wire.OUT_OF_RANGE),
        (rule(value=0, for_ms=1), wire.OUT_OF_RANGE),
        (rule(every_s=0), wire.OUT_OF_RANGE),
        (rule(every_s=1), wire.OUT_OF_RANGE),
        (rule(every_s=604_801), wire.OUT_OF_RANGE),
        (rule(held_ms=3_600_001), wire.OUT_OF_RANGE),
        (rule(name_bytes=0), wire.OUT_OF_RANGE),
        (rule(name_bytes=24), wire.OUT_OF_RANGE),
        (rule()[:-1], wire.BAD_REQUEST),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(garden: Garden, raw: bytes, code: int) -> None:
    assert garden.code_of(PUT, 255, raw=raw) == code
    assert garden.states()[0][0] == EMPTY


def test_a_rule_may_not_ask_for_more_than_the_longest_on_time() -> None:
    garden = Garden(max_on_ms=800)
    assert garden.code_of(PUT, 255, raw=rule()) == wire.OUT_OF_RANGE
    assert garden.code_of(PUT, 255, raw=rule(for_ms=800)) == wire.OK


def test_a_device_is_set_within_its_own_range(garden: Garden) -> None:
    garden.put(rule(output=FAN, value=750))
    garden.values[SOIL] = 0
    garden.run(0.1)
    assert garden.pins.pins[FAN].levels[-1] == 750


def test_a_device_without_a_range_is_no_output_of_a_rule(garden: Garden) -> None:
    place = garden.pins.places[FAN]
    assert place is not None
    place.device = object()
    assert garden.code_of(PUT, 255, raw=rule(output=FAN)) == wire.BAD_PIN
