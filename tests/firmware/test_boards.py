"""Every board file, against what the firmware expects and what the chips can do."""

import re
from types import ModuleType

import pytest

from firmware.host.bundle import board_file, board_names
from firmware.host.describe import PINS_MOST

BOARDS = {name: board_file(name) for name in board_names()}
# Analog inputs of the STM32F411 that reach a connector, from its data sheet
F411_ANALOG = {f"PA{n}" for n in range(8)} | {"PB0", "PB1"} | {f"PC{n}" for n in range(6)}
# Debugging, USB, and what each board needs for itself
TAKEN = {
    "weact_blackpill_f411": {"PA11", "PA12", "PA13", "PA14", "PB2", "PC14", "PC15"},
    "nucleo_f411re": {"PA2", "PA3", "PA13", "PA14", "PB3", "PC14", "PC15", "PH0", "PH1"},
    "simulated": set(),
}
KEYS = {"name", "pin", "aliases", "can", "active_low", "safe", "lease_ms", "pull", "floating"}

every_board = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS.keys())


def test_these_boards_are_supported() -> None:
    assert set(BOARDS) == {"weact_blackpill_f411", "nucleo_f411re", "simulated"}


@every_board
def test_a_board_says_all_that_the_firmware_asks(board: ModuleType) -> None:
    assert 0 < len(board.NAME.encode()) <= 64
    kind, number, baudrate = board.LINK
    assert kind in {"usb", "uart"}
    assert number >= 0
    assert baudrate >= 0
    assert 256 <= board.RECEIVE_WINDOW_BYTES <= 255 * 16
    assert board.RECEIVE_WINDOW_BYTES % 16 == 0
    assert board.FLASH_CLASS in range(4)
    assert 1700 <= board.SUPPLY_MV <= 3600
    assert isinstance(board.HAS_MCU_TEMPERATURE, bool)
    assert 0 <= board.PROMPT_WINDOW_MS <= 3000


@every_board
def test_pins_have_names_that_mean_one_thing(board: ModuleType) -> None:
    names = [name for row in board.PINS for name in (row["name"], *row.get("aliases", ()))]
    assert len(names) == len(set(names)) == len({name.casefold() for name in names})
    assert len(board.PINS) <= PINS_MOST
    for row in board.PINS:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", row["name"])


@every_board
def test_pins_are_used_once_and_for_what_they_can(board: ModuleType) -> None:
    pins = [row["pin"] for row in board.PINS]
    assert len(pins) == len(set(pins))
    for row in board.PINS:
        assert set(row) <= KEYS
        assert re.fullmatch(r"P[A-H]\d{1,2}", row["pin"])
        assert set(row["can"]) <= {"in", "out", "adc"}
        assert row["can"]
        assert "adc" not in row["can"] or row["pin"] in F411_ANALOG
        assert row.get("safe", 0) in {0, 1}
        assert 50 <= row.get("lease_ms", 2000) <= 10_000
        assert row.get("pull", "") in {"", "up", "down"}


@pytest.mark.parametrize("name", BOARDS)
def test_a_board_keeps_the_pins_that_it_needs_itself(name: str) -> None:
    assert not TAKEN[name] & {row["pin"] for row in BOARDS[name].PINS}


@pytest.mark.parametrize(
    ("name", "led", "lit_level", "button"),
    [("weact_blackpill_f411", "PC13", 0, "PA0"), ("nucleo_f411re", "PA5", 1, "PC13")],
)
def test_led_and_button_are_where_the_schematic_has_them(
    name: str, led: str, lit_level: int, button: str
) -> None:
    rows = {row["name"]: row for row in BOARDS[name].PINS}
    assert rows["led"]["pin"] == led
    assert rows["led"].get("active_low", False) == (lit_level == 0)
    assert (rows["button"]["pin"], rows["button"]["active_low"]) == (button, True)
    assert rows["button"]["can"] == ("in",)
