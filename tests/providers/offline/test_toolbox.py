"""Schemas of any kind as profiles."""

import pytest

from agent.messages import Effect
from agent.providers.offline.toolbox import toolbox, words_of
from tests.fakes.said import spec_of
from tests.providers.offline.toolset import TOOLS, choice, spec


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("board_gpio_write", {"board", "~gpio", "write"}),
        ("board_mcu_temperature", {"board", "chip", "temperature"}),
        ("redLed", {"red", "led"}),
        ("led2", {"led", "~led2"}),
        ("泵", {"pump"}),
        ("", set()),
    ],
)
def test_names_are_read_as_words(name: str, words: set[str]) -> None:
    assert words_of(name) == words


def test_a_switch_is_told_from_a_device() -> None:
    profile = toolbox(TOOLS).find("board_gpio_write")
    assert profile is not None
    assert profile.switch is not None
    assert profile.device is not None
    assert (profile.device.name, profile.switch.name) == ("pin", "value")


def test_other_names_of_a_choice_are_read_from_its_description() -> None:
    pins = {**choice("d7", "led"), "description": "d7 (fountain, water pump), led (blue led)"}
    (profile,) = toolbox([spec("x", "y", {"pin": pins})]).profiles
    assert profile.device is not None
    assert {"pump", "~fountain"} <= profile.device.choices[0].senses
    assert "blue" in profile.device.choices[1].senses


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"properties": None, "required": "all"},
        {"properties": {"a": True, "b": {"enum": "xyz"}, "c": {"enum": [None, {}, 1, True]}}},
        {"properties": {"a": {"type": ["string", "null"], "minimum": "low"}}},
        {"type": "array"},
    ],
)
def test_any_schema_makes_a_profile(parameters: dict[str, object]) -> None:
    (profile,) = toolbox([spec_of("t", "d", parameters, Effect.READ)]).profiles
    assert profile.name == "t"


def test_a_tool_whose_schema_changed_is_read_anew() -> None:
    first = toolbox([spec("t", "d", {"pin": choice("led")})]).profiles[0]
    second = toolbox([spec("t", "d", {"pin": choice("pump")})]).profiles[0]
    assert first.device is not None
    assert second.device is not None
    assert [first.device.choices[0].text, second.device.choices[0].text] == ["led", "pump"]
