import struct
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.link import frame as wire
from agent.link.manifest import Manifest, read_manifest
from agent.link.reflexes import (
    LONGEST_HOLD_S,
    LONGEST_S,
    BadRule,
    Condition,
    ReflexRule,
    in_words,
    pack_rule,
    read_rule,
    span,
    with_proper_names,
)
from tests.fakes.board import MANIFEST_JSON
from tests.link.test_readings import CLIMATE

GARDEN = read_manifest(MANIFEST_JSON)
WATERING = ReflexRule(
    name="watering",
    when=(Condition("a0", "below", 1.2, 0.1), Condition("button", "equal", "on")),
    output="pump",
    value="on",
    every_s=3600,
    for_s=5,
    held_s=10,
)


def changed(**fields: Any) -> ReflexRule:
    return msgspec.structs.replace(WATERING, **fields)


def test_a_rule_on_the_wire() -> None:
    assert pack_rule(GARDEN, WATERING).hex(" ") == (
        "01 02 01 01 00 00 00 88 13 00 00 10 0e 00 00 10 27 00 00 "
        "04 00 b0 04 00 00 64 00 00 00 "
        "03 02 01 00 00 00 00 00 00 00 "
        "08 77 61 74 65 72 69 6e 67" + " 00" * 15
    )


def test_the_layout_is_that_of_the_board() -> None:
    assert struct.calcsize(wire.RULE_FORMAT) == wire.RULE_BYTES
    assert struct.calcsize(wire.REFLEX_STATE_FORMAT) == wire.REFLEX_STATE_BYTES
    raw = pack_rule(GARDEN, WATERING)
    assert [raw[at] for at in wire.RULE_PINS_AT] == [1, 4, 3]
    # Action and slot before it, and the whole table, each in one frame
    assert 2 + wire.RULE_BYTES < wire.PAYLOAD_LIMIT_BYTES
    assert 2 + wire.REFLEXES_MOST * wire.REFLEX_STATE_BYTES < wire.PAYLOAD_LIMIT_BYTES


def test_a_rule_in_words() -> None:
    assert in_words(GARDEN, WATERING) == (
        "When a0 is below 1.2 V (and until it is back at 1.3 V) and button is on, for 10 s "
        "without a break: pump on for 5 s, at most once every 60 min."
    )


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (Condition("mcu_temperature", "above", 60), "When mcu_temperature is above 60 °C:"),
        (Condition("a0", "above", 2, 0.5), "When a0 is above 2 V (and until it is back at 1.5 V):"),
        (Condition("a0", "equal", 1, 0.5), "When a0 is within 0.5 V of 1 V:"),
        (Condition("a0", "unequal", 1, 0.5), "When a0 is more than 0.5 V away from 1 V:"),
        (Condition("a0", "equal", 1), "When a0 is 1 V:"),
        (Condition("button", "unequal", "on"), "When button is not on:"),
    ],
)
def test_every_comparison_has_words(condition: Condition, words: str) -> None:
    assert in_words(GARDEN, changed(when=(condition,), held_s=0)).startswith(words)


def test_a_part_of_a_reading_is_told_by_both_names() -> None:
    rule = ReflexRule("dry", (Condition("room.humidity", "below", 40),), "fan", 800, 60, 5)
    raw = pack_rule(CLIMATE, rule)
    assert read_rule(CLIMATE, raw) == rule
    assert in_words(CLIMATE, rule) == (
        "When room humidity is below 40: fan 800 for 5 s, at most once every 1 min."
    )


def test_the_safe_value_needs_no_time() -> None:
    rule = changed(value="off", for_s=0, held_s=0, when=(Condition("button", "equal", "on"),))
    assert in_words(GARDEN, rule) == "When button is on: pump off, at most once every 60 min."
    assert read_rule(GARDEN, pack_rule(GARDEN, rule)) == rule
    with pytest.raises(BadRule, match="set for_s to 0"):
        pack_rule(GARDEN, changed(value="off"))


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"output": "pmup"}, "no output 'pmup'; did you mean pump"),
        ({"output": "a0"}, "no output 'a0'"),
        ({"value": "blue"}, "pump must be one of off, on, not blue"),
        ({"for_s": 0}, "at most 10 s"),
        ({"for_s": 11}, "at most 10 s"),
        ({"every_s": 5}, "every_s must be longer than for_s"),
        ({"name": "ü" * 12}, "1 to 23 letters"),
        ({"when": (Condition("so", "below", 1),)}, "no reading 'so'"),
        ({"when": (Condition("button", "below", "on"),)}, "use the comparison equal"),
        ({"when": (Condition("button", "equal", "red"),)}, "one of off, on, not red"),
        ({"when": (Condition("a0", "below", "wet"),)}, "a0 must be a number, not 'wet'"),
        ({"when": (Condition("a0", "below", "nan"),)}, "a0 must be a number, not 'nan'"),
        ({"when": (Condition("a0", "below", -1),)}, "between 0 and 65.535 V, not -1"),
        ({"when": (Condition("a0", "below", 1, 1e9),)}, "the board cannot compare"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_remedy(
    fields: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(BadRule, match=complaint):
        pack_rule(GARDEN, changed(**fields))


def test_the_longest_on_time_of_the_output_counts() -> None:
    pins = tuple(msgspec.structs.replace(pin, max_on_ms=3000) for pin in GARDEN.pins)
    with pytest.raises(BadRule, match="a reflex may hold pump for at most 3 s"):
        pack_rule(msgspec.structs.replace(GARDEN, pins=pins), WATERING)


def test_other_spellings_become_the_names_of_the_board() -> None:
    rule = changed(output="PB0", value="ON", when=(Condition("Key", "equal", "On"),))
    proper = with_proper_names(GARDEN, rule)
    assert (proper.output, proper.value) == ("pump", "on")
    assert proper.when == (Condition("button", "equal", "on"),)


conditions = st.one_of(
    st.builds(
        Condition,
        st.just("a0"),
        st.sampled_from(["below", "above", "equal", "unequal"]),
        st.integers(0, 3300).map(lambda millivolts: millivolts / 1000),
        st.integers(0, 500).map(lambda millivolts: millivolts / 1000),
    ),
    st.builds(
        Condition,
        st.just("button"),
        st.sampled_from(["equal", "unequal"]),
        st.sampled_from(["on", "off"]),
    ),
)
rules = st.builds(
    ReflexRule,
    st.from_regex("[a-z][a-z0-9_]{0,22}", fullmatch=True),
    st.lists(conditions, min_size=1, max_size=2).map(tuple),
    st.sampled_from(["led", "pump", "relay"]),
    st.just("on"),
    st.integers(11, 604_800),
    st.integers(1, int(LONGEST_S * 1000)).map(lambda ms: ms / 1000),
    st.integers(0, LONGEST_HOLD_S),
)


@given(rules)
def test_a_rule_comes_back_from_the_wire_as_it_was(rule: ReflexRule) -> None:
    assert read_rule(GARDEN, pack_rule(GARDEN, rule)) == rule


def test_what_names_a_pin_that_is_gone_is_told_by_its_number() -> None:
    told = in_words(Manifest(1, "t"), read_rule(Manifest(1, "t"), pack_rule(GARDEN, WATERING)))
    assert told.startswith("When pin 4 is below 1200 (and until it is back at 1300) and pin 3 is 1")
    assert "pin 1 1 for 5 s" in told


def test_a_switch_that_another_agent_compared_by_size_can_be_told() -> None:
    raw = bytearray(pack_rule(GARDEN, changed(when=(Condition("button", "equal", "on"),))))
    raw[20], raw[25] = 0, 1
    assert "button is below on (and until it is back at on)" in in_words(
        GARDEN, read_rule(GARDEN, bytes(raw))
    )


@given(st.binary(max_size=80))
def test_whatever_a_board_has_stored_can_be_told_or_is_refused(raw: bytes) -> None:
    try:
        rule = read_rule(GARDEN, raw)
    except BadRule:
        assert len(raw) < wire.RULE_BYTES
    else:
        assert in_words(GARDEN, rule).endswith(".")
        assert in_words(Manifest(1, "t"), read_rule(Manifest(1, "t"), raw)).endswith(".")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1.5, "1.5 s"),
        (90, "90 s"),
        (60, "1 min"),
        (3600, "60 min"),
        (7200, "2 h"),
        (172_800, "2 days"),
    ],
)
def test_a_span_has_the_largest_unit_that_fits(seconds: float, words: str) -> None:
    assert span(seconds) == words
