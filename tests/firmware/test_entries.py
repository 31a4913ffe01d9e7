"""firmware/node/entries.py under CPython: what a configuration may say, entry by entry."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware.host.board_source import usable
from firmware.host.bundle import board_file
from tests.firmware.node_on_cpython import node_module

with node_module("entries") as loaded:
    ENTRIES = loaded

BOARD = SimpleNamespace(
    PINS=({"name": "led", "pin": "PC13", "can": ("in", "out")},),
)
USABLE = {"gpio": " PA0 PA1 PB0 PB1 PC13 ", "adc": " PA0 PA1 ", "pwm": " PA0 PB0 "}
PUMP = {"name": "pump", "kind": "output", "pin": "PB0"}
LEVEL = {"name": "level_ok", "kind": "input", "pin": "PB1", "pull": "up"}
I2C = {"name": "bus", "kind": "i2c", "pin": "PA0", "sda": "PA1"}


@pytest.fixture(autouse=True)
def pins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pins that the board has; a board without room for all has them in a module that goes."""
    monkeypatch.setattr(ENTRIES.kinds, "USABLE", USABLE)


def read(*entries: Any, **root: Any) -> list[dict[str, Any]]:
    text = json.dumps({"v": 1, "pins": entries, **root})
    found: list[dict[str, Any]] = ENTRIES.read(text, BOARD)
    return found


def test_what_is_sound_is_taken_as_it_is() -> None:
    limits = {"lease_ms": 500, "max_on_ms": 5000, "min_off_ms": 0, "per_minute": 6, "safe": 0}
    pump = {**PUMP, **limits, "needs": [["level_ok", 1], ["led", 0]], "safety": "hazard"}
    entries = [pump, LEVEL, {"name": "soil", "kind": "analog", "pin": "PA0"}]
    assert read(*entries) == entries
    assert read() == []


def test_the_lines_of_a_bus_may_be_shared_by_what_is_made_for_it() -> None:
    bme280 = {**I2C, "name": "room", "kind": "bme280"}
    assert read(I2C, bme280) == [I2C, bme280]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([5], "no proper name"),
        ([{"kind": "output"}], "no proper name"),
        ([{**PUMP, "name": "Pump"}], "no proper name"),
        ([{**PUMP, "name": "p" * 33}], "no proper name"),
        ([{**PUMP, "name": "my pump"}], "no proper name"),
        ([PUMP, {**LEVEL, "name": "pump"}], "pump: two entries have that name"),
        ([{**PUMP, "kind": "laser"}], "pump: no such kind"),
        ([{**PUMP, "kind": ["output"]}], "pump: no such kind"),
        ([{**PUMP, "pin": 5}], "pump: it names no pin"),
        ([{**PUMP, "pin": "PZ0"}], "pump: it names no pin"),
        ([{**PUMP, "pin": "PA13"}], "pump: PA13 cannot be used for that"),
        ([{**PUMP, "kind": "analog"}], "pump: PB0 cannot be used for that"),
        ([{**PUMP, "kind": "pwm", "pin": "PB1"}], "pump: PB1 cannot be used for that"),
        ([PUMP, {**LEVEL, "pin": "PB0"}], "level_ok: PB0 is used twice"),
        ([{**I2C, "sda": "PA0"}], "bus: PA0 is used twice"),
        ([I2C, {**PUMP, "pin": "PA1"}], "pump: PA1 is used twice"),
        ([{**PUMP, "active_low": 1}], "pump: active_low is true or false"),
        ([{**LEVEL, "pull": "sideways"}], "level_ok: pull is up or down"),
        ([{**PUMP, "safety": "read"}], "pump: pull is up or down, safety is actuate or hazard"),
        ([{**PUMP, "safe": 2}], "pump: safe is 0 or 1"),
        ([{**PUMP, "safe": True}], "pump: safe is 0 or 1"),
        ([{**PUMP, "lease_ms": 10_001}], "pump: lease_ms is 50 to 10000"),
        ([{**PUMP, "lease_ms": 2000.5}], "pump: lease_ms is 50 to 10000"),
        ([{**PUMP, "max_on_ms": 0}], "pump: max_on_ms is 100 to 86400000"),
        ([{**PUMP, "min_off_ms": -1}], "pump: min_off_ms is 0 to 86400000"),
        ([{**PUMP, "per_minute": 61}], "pump: per_minute is 1 to 60"),
        ([{**LEVEL, "debounce_ms": 1001}], "level_ok: debounce_ms is 0 to 1000"),
        ([{**PUMP, "max_of_ms": 5}], "pump: unknown option max_of_ms"),
        ([{**LEVEL, "max_on_ms": 500}], "level_ok: unknown option max_on_ms"),
        ([{**PUMP, "needs": "level_ok"}], "pump: needs is a list"),
        ([{**PUMP, "needs": [["led", 1]] * 5}], "pump: needs is a list of at most 4"),
        ([{**PUMP, "needs": [["pump", 1]]}], r"pump: needs is \[\[another pin"),
        ([{**PUMP, "needs": [["nothing", 1]]}], r"pump: needs is \[\[another pin"),
        ([{**PUMP, "needs": [["led"]]}], r"pump: needs is \[\[another pin"),
        ([{**PUMP, "pin": "PC13", "needs": [["led", 1]]}], r"pump: needs is \[\[another pin"),
        ([{**LEVEL, "name": f"n{at}", "pin": "PB1"} for at in range(30)], "more than 30 pins"),
    ],
)
def test_what_is_not_sound_is_refused_with_its_name(entries: list[Any], said: str) -> None:
    with pytest.raises(ENTRIES.Unfit, match=said):
        read(*entries)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[]", "version"),
        ('{"v":2,"pins":[]}', "version"),
        ('{"v":1}', "version"),
    ],
)
def test_what_is_no_configuration_is_refused(text: str, said: str) -> None:
    with pytest.raises(ENTRIES.Unfit, match=said):
        ENTRIES.read(text, BOARD)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)
options = st.sampled_from(
    ["name", "kind", "pin", "safe", "lease_ms", "needs", "per_minute", "sda", "active_low", "pull"]
)


SIMULATED = board_file("simulated")


@given(st.lists(st.dictionaries(options, json_values | st.sampled_from(["PB0", "output", "a"]))))
@settings(deadline=None, max_examples=50)
def test_nothing_that_json_can_say_raises_anything_else(entries: list[Any]) -> None:
    ENTRIES.kinds.USABLE = usable(SIMULATED)
    try:
        ENTRIES.read(json.dumps({"v": 1, "pins": entries}), SIMULATED)
    except ENTRIES.Unfit as unfit:
        assert len(str(unfit)) > 0  # noqa: PT017  - taking it is as good


def test_a_complete_entry_has_what_its_row_says_and_keeps_what_it_said() -> None:
    fan = {"name": "fan", "kind": "pwm", "pin": "PA0", "frequency": 50}
    found = ENTRIES.complete(read(fan, PUMP, LEVEL))
    assert found == [
        {**fan, "safe": 0},
        {**PUMP, "can": ("in", "out")},
        {**LEVEL, "can": ("in",)},
    ]


def test_what_an_entry_can_is_not_for_it_to_say() -> None:
    with pytest.raises(Exception, match="pump: unknown option can"):
        read({**PUMP, "can": ["in", "out", "adc"]})
    with pytest.raises(Exception, match="pump: no such kind"):
        read({**PUMP, "kind": "output gpio"})
