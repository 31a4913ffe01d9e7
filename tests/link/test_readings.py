import pytest

from agent.link.manifest import BoardPin, Field, Manifest, Method, read_manifest
from agent.link.readings import (
    NO_PIN,
    UnknownName,
    find_reading,
    find_setting,
    proper_name,
    readings,
    settings,
)
from tests.fakes.board import MANIFEST_JSON

GARDEN = read_manifest(MANIFEST_JSON)
CLIMATE = Manifest(
    1,
    "t",
    methods=(
        Method(
            26,
            "climate_read",
            "",
            (Field("pin", "B", pins="climate"),),
            (Field("temperature", "h", scale=0.1), Field("humidity", "H", scale=0.1)),
            "read",
        ),
        Method(
            20,
            "pwm_write",
            "",
            (Field("pin", "B", pins="pwm"), Field("frequency", "H"), Field("duty", "H")),
            lease=True,
        ),
    ),
    pins=(BoardPin(0, "room", "PB6", can=("climate",)), BoardPin(1, "fan", "PB8", can=("pwm",))),
)


def test_a_reading_is_named_by_its_pin() -> None:
    names = [one.name for one in readings(GARDEN)]
    assert names == ["led", "pump", "relay", "button", "a0", "mcu_temperature"]
    assert (find_reading(GARDEN, "a0").index, find_reading(GARDEN, "a0").part) == (4, 0)
    assert find_reading(GARDEN, "mcu_temperature").index == NO_PIN


@pytest.mark.parametrize("name", ["button", "KEY", "key", " pa0 "])
def test_aliases_and_labels_lead_to_the_same_reading(name: str) -> None:
    assert find_reading(GARDEN, name).name == "button"


def test_a_pin_that_shows_several_values_names_each() -> None:
    humidity = find_reading(CLIMATE, "room.humidity")
    assert (humidity.index, humidity.part) == (0, 1)
    assert [one.name for one in readings(CLIMATE)] == ["room.temperature", "room.humidity"]


def test_outputs_are_set_by_the_last_argument_of_their_method() -> None:
    assert [one.pin.name for one in settings(GARDEN)] == ["led", "pump", "relay"]
    assert find_setting(GARDEN, "Blue LED").field.choices == ("off", "on")
    assert find_setting(CLIMATE, "fan").field.name == "duty"


def test_a_wrong_name_is_told_with_what_comes_close() -> None:
    with pytest.raises(UnknownName, match="did you mean button"):
        find_reading(GARDEN, "buton")
    with pytest.raises(UnknownName, match="available: led, pump, relay"):
        find_setting(GARDEN, "xyz")
    with pytest.raises(UnknownName, match="no output 'button'"):
        find_setting(GARDEN, "button")
    with pytest.raises(UnknownName, match="available: none"):
        find_reading(Manifest(1, "t"), "a0")


def test_a_proper_name_wins_over_another_pins_alias() -> None:
    pins = (BoardPin(0, "led", "A", ("pump",)), BoardPin(1, "pump", "B"))
    assert proper_name(Manifest(1, "t", (), pins), "PUMP") == "pump"
