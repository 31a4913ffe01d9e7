"""Every board file, against what the firmware expects and what the chips can do."""

import re
from types import ModuleType

import pytest

from firmware.host.bundle import board_file, board_names
from firmware.host.describe import LIMITS, PINS_MOST
from firmware.host.parts import PARTS

BOARDS = {name: board_file(name) for name in board_names()}
# Analog inputs that reach a connector, from the data sheets: the F4 chips agree
F4_ANALOG = {f"PA{n}" for n in range(8)} | {"PB0", "PB1"} | {f"PC{n}" for n in range(6)}
ANALOG = {
    "nucleo_h743zi": {"PA3", "PC0", "PB1"},
    "nucleo_wb55": {f"PA{n}" for n in range(10)} | {f"PC{n}" for n in range(6)},
}
NUCLEO_64_TAKEN = {"PA2", "PA3", "PA13", "PA14", "PB3", "PC14", "PC15", "PH0", "PH1"}
# Debugging, USB, and what each board needs for itself
TAKEN = {
    "weact_blackpill_f411": {"PA11", "PA12", "PA13", "PA14", "PB2", "PC14", "PC15"},
    "nucleo_f401re": NUCLEO_64_TAKEN,
    "nucleo_f411re": NUCLEO_64_TAKEN,
    "nucleo_f446re": NUCLEO_64_TAKEN,
    "nucleo_h743zi": {"PD8", "PD9", "PA13", "PA14", "PB3", "PA11", "PA12", "PC14", "PC15"},
    "nucleo_wb55": {"PB6", "PB7", "PA13", "PA14", "PB3", "PA11", "PA12", "PC14", "PC15"},
    "pyboard_v11": {"PA11", "PA12", "PA9", "PA10", "PB2", "PB5", "PC13", "PC14", "PC15"},
    "simulated": set(),
}
KEYS = {"name", "pin", "aliases", "can", "active_low", "safe", "lease_ms", "pull", "floating"}
KEYS |= set(LIMITS)
# The chip's timers that have an interrupt of their own and that no channel needs
DEADMAN_TIMERS = {"simulated": {1}, "nucleo_h743zi": {17}, "nucleo_wb55": {17}}

# By chip: the pins at which `machine.PWM` of MicroPython 1.28 takes the dead man's timer. Of the
# alternate functions in its tables it takes a pin's second channel, or the only one.
F4_TIMER_11 = frozenset({"PB9"})
DEADMAN_PINS = {
    "nucleo_f401re": F4_TIMER_11,
    "nucleo_f411re": F4_TIMER_11,
    "pyboard_v11": F4_TIMER_11,
    "weact_blackpill_f411": F4_TIMER_11,
    "nucleo_h743zi": frozenset({"PF7"}),
    "nucleo_wb55": frozenset({"PA7", "PB9", "PE1"}),
}

every_board = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS.keys())


def test_these_boards_are_supported() -> None:
    assert set(BOARDS) == set(TAKEN)


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


@pytest.mark.parametrize("name", BOARDS)
def test_pins_are_used_once_and_for_what_they_can(name: str) -> None:
    board = BOARDS[name]
    pins = [row["pin"] for row in board.PINS]
    assert len(pins) == len(set(pins))
    for row in board.PINS:
        assert set(row) <= KEYS
        assert re.fullmatch(r"P[A-H]\d{1,2}", row["pin"])
        assert set(row["can"]) <= {"in", "out", "adc"}
        assert row["can"]
        assert "adc" not in row["can"] or row["pin"] in ANALOG.get(name, F4_ANALOG)
        assert row.get("safe", 0) in {0, 1}
        assert 50 <= row.get("lease_ms", 2000) <= 10_000
        assert row.get("pull", "") in {"", "up", "down"}


@pytest.mark.parametrize("name", BOARDS)
def test_a_board_keeps_the_pins_that_it_needs_itself(name: str) -> None:
    assert not TAKEN[name] & {row["pin"] for row in BOARDS[name].PINS}


# Their builds of MicroPython have pyb.DAC
DACS = frozenset({"nucleo_f446re", "pyboard_v11", "simulated"})


@pytest.mark.parametrize("name", BOARDS)
def test_a_configuration_may_use_what_the_chip_can_and_the_board_leaves(name: str) -> None:
    board = BOARDS[name]
    assert not TAKEN[name] & set(board.USABLE)
    # All but the one that MicroPython lights while it writes to flash
    own = {row["pin"] for row in board.PINS} - {PARTS[name].light if name in PARTS else ""}
    assert own <= set(board.USABLE)
    analog = ANALOG.get(name, F4_ANALOG)
    for pin, uses in board.USABLE.items():
        assert re.fullmatch(r"P[A-H]\d{1,2}", pin)
        assert set(uses.split()) <= {"gpio", "adc", "pwm", "dac"}
        # The same two in every STM32 that has converters
        assert "dac" not in uses or (pin in {"PA4", "PA5"} and name in DACS)
        assert "adc" not in uses or pin in analog
    for row in board.PINS:
        assert "adc" not in row["can"] or "adc" in board.USABLE[row["pin"]]
    assert board.DEADMAN_TIMER in DEADMAN_TIMERS.get(name, {11})


@pytest.mark.parametrize("name", DEADMAN_PINS)
def test_no_pwm_takes_the_timer_that_looks_for_a_silent_pi(name: str) -> None:
    """Its end would stop that timer, and with it the dead man's handle."""
    uses = BOARDS[name].USABLE
    taken = [pin for pin in sorted(DEADMAN_PINS[name]) if "pwm" in uses.get(pin, "").split()]
    assert not taken


@pytest.mark.parametrize(
    ("name", "led", "lit_level", "button", "pressed_level"),
    [
        ("weact_blackpill_f411", "PC13", 0, "PA0", 0),
        ("nucleo_f401re", "PA5", 1, "PC13", 0),
        ("nucleo_f411re", "PA5", 1, "PC13", 0),
        ("nucleo_f446re", "PA5", 1, "PC13", 0),
        ("nucleo_h743zi", "PB0", 1, "PC13", 1),
        ("nucleo_wb55", "PB5", 1, "PC4", 0),
        ("pyboard_v11", "PB4", 1, "PB3", 0),
    ],
)
def test_led_and_button_are_where_the_schematic_has_them(
    name: str, led: str, lit_level: int, button: str, pressed_level: int
) -> None:
    rows = {row["name"]: row for row in BOARDS[name].PINS}
    assert rows["led"]["pin"] == led
    assert rows["led"].get("active_low", False) == (lit_level == 0)
    assert rows["button"]["pin"] == button
    assert rows["button"].get("active_low", False) == (pressed_level == 0)
    assert rows["button"]["can"] == ("in",)
