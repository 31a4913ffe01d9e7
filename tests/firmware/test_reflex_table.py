"""What is left of the board's rules after a reset or a new configuration, under CPython."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.link import frame as wire
from tests.firmware.garden import (
    ACTIVE,
    DAMAGED,
    EMPTY,
    EQUAL,
    FAILED,
    FORBIDDEN,
    GET,
    GONE,
    IN_RAM,
    LAMP,
    PAUSED,
    SOIL,
    STORED,
    TANK,
    WAITING,
    Garden,
    Store,
    rule,
)


@pytest.fixture
def garden() -> Garden:
    return Garden()


def test_rules_outlive_a_reset_and_wait_their_interval_after_it(garden: Garden) -> None:
    garden.put(rule())
    garden.put(rule(enabled=0))
    garden.run(0.1)
    assert (garden.condition(), garden.busy_ms) == (STORED, [2000])
    again = Garden(garden.store)
    again.values[SOIL] = 0
    assert [state[0] for state in again.states()[:3]] == [ACTIVE, PAUSED, EMPTY]
    again.run(4.5)
    # A pump that pulls its own board into a reset does not run again and again
    assert again.switched_on() == 0
    again.run(1)
    assert again.switched_on() == 1


def test_flash_is_not_written_while_an_output_is_on(garden: Garden) -> None:
    garden.outputs.write(LAMP, 1, 0)
    garden.put(rule())
    garden.run(1)
    assert (garden.condition(), garden.store.saved) == (WAITING, 0)
    garden.run(1.1)
    assert (garden.condition(), garden.store.saved) == (STORED, 1)


def test_flash_that_fails_is_told_and_not_worn_out(garden: Garden) -> None:
    garden.store.fails = True
    garden.put(rule())
    garden.run(1)
    assert (garden.condition(), garden.store.saved) == (FAILED, 1)
    assert garden.states()[0][0] == ACTIVE


def test_a_board_without_flash_says_so() -> None:
    store = Store()
    store.has_flash = False
    garden = Garden(store)
    assert garden.condition() == IN_RAM
    garden.put(rule())
    garden.run(0.1)
    assert (garden.condition(), garden.busy_ms) == (IN_RAM, [])


@pytest.mark.parametrize("text", [b"\x09", b"\x01\x01", b"\x01\x02" + bytes(76), b"\x02\x00"])
def test_a_damaged_store_is_ignored_and_told(text: bytes) -> None:
    store = Store()
    store.text = text
    garden = Garden(store)
    assert garden.condition() == DAMAGED
    assert {state[0] for state in garden.states()} == {EMPTY}
    garden.put(rule())
    garden.run(0.1)
    assert garden.condition() == STORED


@given(at=st.integers(0, 77), value=st.integers(0, 255))
def test_no_damage_of_the_store_stops_the_board(at: int, value: int) -> None:
    garden = Garden()
    garden.put(rule())
    garden.run(0.1)
    text = bytearray(garden.store.text)
    text[at] = value
    garden.store.text = bytes(text)
    again = Garden(garden.store)
    again.values[SOIL] = 0
    again.run(1)
    assert not again.is_on() or again.states()[0][0] == ACTIVE


def test_a_rule_follows_its_pins_through_a_new_configuration(garden: Garden) -> None:
    garden.put(rule((TANK, EQUAL, 1, 0)))
    places = garden.pins.places
    places[SOIL], places[TANK] = places[TANK], places[SOIL]
    garden.hash = b"another"
    garden.values = {SOIL: 1, TANK: 500}
    garden.run(6)
    assert garden.states()[0][0] == ACTIVE
    assert garden.call(GET, 0)[wire.RULE_PINS_AT[1]] == SOIL
    assert garden.switched_on() == 1


def test_a_rule_whose_pin_is_gone_rests_until_it_is_back(garden: Garden) -> None:
    garden.put(rule())
    taken, garden.pins.places[SOIL] = garden.pins.places[SOIL], None
    garden.hash = b"another"
    garden.values[SOIL] = 0
    garden.run(10)
    assert (garden.states()[0][0], garden.switched_on()) == (GONE, 0)
    garden.pins.places[SOIL] = taken
    garden.hash = b"a third"
    garden.run(6)
    assert (garden.states()[0][0], garden.switched_on()) == (ACTIVE, 1)


def test_a_rule_that_a_new_limit_forbids_rests(garden: Garden) -> None:
    garden.put(rule())
    tighter = Garden(garden.store, max_on_ms=500)
    assert tighter.states()[0][0] == EMPTY
    garden.run(0.1)
    tighter = Garden(garden.store, max_on_ms=500)
    tighter.values[SOIL] = 0
    tighter.run(10)
    assert (tighter.states()[0][0], tighter.switched_on()) == (FORBIDDEN, 0)
