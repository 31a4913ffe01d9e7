from pathlib import Path
from typing import Any

import pytest

from agent.config import decode
from agent.errors import ConfigRefused
from agent.link.pin_settings import PinSettings
from agent.link.settings import BoardSettings
from agent.settings import Settings

PUMP = """
[board.pins.pump]
pin = "PB0"
active = "low"
lease_ms = 1000
max_on_s = 10.0
min_off_s = 60
max_per_minute = 2
only_while = { level_ok = "on" }
danger = "hazard"
aliases = ["water pump", "水泵"]
"""


def read(text: str) -> Settings:
    return decode(text, Settings, Path("x.toml"))


def refused(text: str) -> str:
    with pytest.raises(ConfigRefused) as caught:
        read(text)
    return str(caught.value)


def test_everything_that_is_written_is_read() -> None:
    pump = read(PUMP).board.pins["pump"]
    assert (pump.pin, pump.kind, pump.active, pump.danger) == ("PB0", "output", "low", "hazard")
    assert (pump.lease_ms, pump.max_on_s, pump.min_off_s, pump.max_per_minute) == (1000, 10, 60, 2)
    assert pump.only_while == {"level_ok": "on"}
    assert pump.aliases == ("water pump", "水泵")


def test_only_what_was_given_counts() -> None:
    assert PinSettings(pin="PA0", kind="input").given() == {"pin": "PA0", "kind": "input"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            'pin = "PB0"\nmax_on_s = 0',
            "x.max_on_s`: must be a number from 0.1 to 86400",
        ),
        ('pin = "PB0"\nkind = "outptu"', "did you mean `output`?"),
        ('pin = "PB0"\nlease = 3', "`board.pins.x.lease`: unknown key; did you mean `lease_ms`?"),
        ('kind = "input"', "`board.pins.x.pin`: is missing"),
        ('pin = "D13"', "`board.pins.x.pin`: must be a pin such as"),
        ('pin = "PA0"\nkind = "input"\nmax_on_s = 3', "max_on_s`: is for output"),
        ('pin = "PA0"\nkind = "i2c"', "sda`: is missing: i2c needs it"),
        ('pin = "PA0"\nkind = "servo"\nsafe = "on"', "safe`: must be off for servo"),
        ('pin = "PA0"\nonly_while = { y = "high" }', "only_while"),
    ],
)
def test_what_is_wrong_is_named_with_its_path(text: str, complaint: str) -> None:
    assert complaint in refused(f"[board.pins.x]\n{text}\n")


@pytest.mark.parametrize("name", ["Pump", "2x", "a-b", "x" * 40])
def test_a_name_is_one_word_of_small_letters(name: str) -> None:
    assert name[:20] in refused(f'[board.pins."{name}"]\npin = "PB0"\n')


@pytest.mark.parametrize(
    ("pins", "complaint"),
    [
        ({"x" * 25: PinSettings(pin="PB0")}, "longer than 24"),
        ({"x": PinSettings(pin="PB0", only_while={"x": "on"})}, "names x itself"),
    ],
)
def test_a_board_refuses_names_that_make_no_sense(pins: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        BoardSettings(pins=pins)
