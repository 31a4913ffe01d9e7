"""Pins that are apart outside of the microcontroller and one inside, by what a board says."""

from typing import Any

import pytest

from agent.link import board_peripherals
from agent.link.clashes import clash
from agent.link.pin_settings import PinSettings

BOARD = "some"


@pytest.fixture(autouse=True)
def board(monkeypatch: pytest.MonkeyPatch) -> None:
    channels = {BOARD: "PA6:3.1 PB4:3.1 PA7:3.2 PA8:1.1"}
    monkeypatch.setattr(board_peripherals, "_CHANNELS", channels)
    monkeypatch.setattr(board_peripherals, "_UARTS", {BOARD: "1:PB6:PB7 6:PC6:PB7"})


FAN: dict[str, Any] = {"kind": "pwm", "pin": "PA6"}
ARM: dict[str, Any] = {"kind": "servo", "pin": "PA7"}
SLIDE: dict[str, Any] = {"kind": "stepper", "pin": "PC0", "direction": "PC1", "enable": "PC2"}
GPS: dict[str, Any] = {"kind": "uart", "pin": "PB6"}


def said(board: str = BOARD, **pins: dict[str, Any]) -> str:
    return clash({name: PinSettings(**settings) for name, settings in pins.items()}, board)


@pytest.mark.parametrize(
    ("pins", "words"),
    [
        # Whoever moves one moves the other, past its limits
        ({"fan": FAN, "heater": {**FAN, "pin": "PB4"}}, "fan and heater both need timer 3: "),
        ({"arm": ARM, "fan": FAN}, "arm and fan both need timer 3: use another pin or timer for"),
        ({"fan": {**FAN, "frequency": 60}, "wing": ARM}, "fan and wing both need timer 3: "),
        # A write would change it
        ({"arm": ARM, "fan": {**FAN, "frequency": 50}}, "arm and fan both need timer 3: "),
        ({"arm": ARM, "bell": {"kind": "tone", "pin": "PA6"}}, "arm and bell both need timer 3: "),
        ({"fan": FAN, "slide": {**SLIDE, "timer": 3}}, "fan and slide both need timer 3: "),
        ({"a": {**SLIDE, "timer": 3}, "fan": FAN}, "a and fan both need timer 3: "),
        # It would hold PB6 high from the start on
        ({"gps": {**GPS, "pin": "PC6"}}, "gps: uart 1 sends at PB6: name that pin"),
        ({"gps": GPS, "pump": {"pin": "PB7"}}, "gps and pump both need PB7"),
        ({"pump": {"pin": "PB7"}, "valve": GPS}, "pump and valve both need PB7"),
        ({"gps": GPS, "meter": {**GPS, "pin": "PC6", "uart": 6}}, "gps and meter both need PB7"),
        ({"gps": GPS, "room": {"kind": "bme280", "pin": "PB8", "sda": "PB7"}}, "gps and room both"),
    ],
)
def test_what_meets_inside_is_told(pins: dict[str, Any], words: str) -> None:
    assert said(**pins).startswith(words)
    # Nobody knows what is behind the pins of a board that described itself
    assert said("other", **pins) == ""


@pytest.mark.parametrize(
    "pins",
    [
        {},
        {"fan": FAN, "lamp": {**FAN, "pin": "PA7", "frequency": 200}},
        {"arm": ARM, "claw": {**ARM, "pin": "PA6"}},
        {"arm": ARM, "fan": {**FAN, "pin": "PA8"}},
        {"fan": FAN, "level": {"kind": "input", "pin": "PB4"}},
        {"fan": FAN, "slide": SLIDE},
        {"far": {**FAN, "pin": "PE9"}, "fan": FAN},
        {"gps": GPS, "pump": {"pin": "PC6"}},
        {
            "room": {"kind": "bme280", "pin": "PB8", "sda": "PB9"},
            "air": {"kind": "scd4x", "pin": "PB8", "sda": "PB9"},
        },
    ],
)
def test_what_does_not_meet_is_taken(pins: dict[str, Any]) -> None:
    assert said(**pins) == ""
