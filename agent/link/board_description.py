"""A board as it describes itself at MicroPython's prompt, and the board file that follows from it.

What a board cannot say is taken on the safe side: pins that it uses itself are nobody's, every
other stays an input until somebody drives it, and the light that MicroPython uses is no output.
"""

import re
from typing import Any

import msgspec

from agent.errors import BarnacleError
from agent.text.printable import printable_line

# The masks of the link have room for 30 pins, entries of a configuration included: half of them
_OWN_PINS_MOST = 14
# What Arduino calls a connector: these are printed on the board
_PRINTED = re.compile(r"[ADXY]\d+")
_BUTTONS = ("SW", "USR_BTN", "USER_BTN", "USER_BUTTON", "BTN", "B1", "USER_B1", "KEY", "BUTTON")
# Names of lines that belong to something on the board, or to its debugger
_TAKEN = re.compile(r"(USB|OTG|SWD|JT|OSC|QSPI|SD_|SDIO|ETH|FLASH_|MMA_|BOOT|STLK|STLINK|ULPI)")
# 112 KB and more have room for every driver
_SMALL_BLOCKS = 200
_UART_WINDOW_BYTES, _USB_WINDOW_BYTES = 256, 512
_UART_WAIT_MS, _USB_WAIT_MS = 600, 3_000
_PIN = re.compile(r"[A-K]\d{1,2}")
_MAX_NAME_CHARS = 48


class BadDescription(BarnacleError):
    """An answer that describes no board; the text says why."""


class PinFacts(msgspec.Struct, frozen=True):
    """One pin of the microcontroller: its names on the board, and what it is and can do."""

    names: tuple[str, ...] = ()
    timers: tuple[str, ...] = ()
    busy: bool = False
    adc: bool = False
    level: int = 0


class BoardFacts(msgspec.Struct, frozen=True):
    """Answer of `firmware/prompt/board_question.py`."""

    board: str
    version: tuple[int, int]
    heap_bytes: int
    flash_blocks: int
    console: int
    timer: int
    # 0 where there is none
    backup_register: int
    has_thermometer: bool
    # Pin and level of each LED while it is lit; the first is the one that MicroPython uses
    lights: tuple[tuple[str, int], ...]
    pressed: bool | None
    pins: dict[str, PinFacts]


def read_facts(line: str) -> BoardFacts:
    """Return what the board said.

    Raises:
        BadDescription: it is no description.
    """
    try:
        facts = msgspec.json.decode(line, type=BoardFacts)
    except (ValueError, msgspec.MsgspecError) as err:
        raise BadDescription(f"the board did not describe itself: {err}") from err
    if not all(_PIN.fullmatch(name) for name in facts.pins):
        raise BadDescription("the board names pins that no STM32 has")
    return facts


def board_name(facts: BoardFacts) -> str:
    """Return the name that the board gets: that of its build, in small letters."""
    said = printable_line(facts.board.partition(" with ")[0], _MAX_NAME_CHARS)
    return re.sub(r"[^a-z0-9]+", "-", said.lower()).strip("-") or "board"


def board_table(facts: BoardFacts) -> dict[str, Any]:
    """Return the board file, as `firmware/host/board_folder.py` reads it."""
    usable = _usable(facts)
    is_usb = facts.console == 0
    return {
        "name": board_name(facts),
        "link": ["usb", 0, 0] if is_usb else ["uart", facts.console, 0],
        "receive_window_bytes": _USB_WINDOW_BYTES if is_usb else _UART_WINDOW_BYTES,
        # A file system in one sector cannot keep two versions
        "flash_class": 0 if "STM32H7" in facts.board else 1,
        "is_small": facts.flash_blocks < _SMALL_BLOCKS,
        "supply_mv": 3300,
        "has_mcu_temperature": facts.has_thermometer,
        "prompt_window_ms": _USB_WAIT_MS if is_usb else _UART_WAIT_MS,
        "deadman_timer": facts.timer,
        "boot_register": facts.backup_register,
        "heap_bytes": facts.heap_bytes,
        "pins": _rows(facts, usable),
        "usable": usable,
    }


def _usable(facts: BoardFacts) -> dict[str, str]:
    light = facts.lights[0][0] if facts.lights else ""
    found = {}
    for name, pin in sorted(facts.pins.items(), key=_by_number):
        if pin.busy or name == light or any(_TAKEN.search(one) for one in pin.names):
            continue
        # Of several timers MicroPython chooses one itself: none may be the dead man's handle
        has_channel = bool(pin.timers) and f"TIM{facts.timer}" not in pin.timers
        uses = ["gpio", *(["adc"] if pin.adc else []), *(["pwm"] if has_channel else [])]
        found[f"P{name}"] = " ".join(uses)
    return found


def _by_number(item: tuple[str, PinFacts]) -> tuple[str, int]:
    return item[0][0], int(item[0][1:])


def _rows(facts: BoardFacts, usable: dict[str, str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for number, (name, lit) in enumerate(facts.lights):
        row = {"name": "led" if number == 0 else f"led{number + 1}", "pin": f"P{name}"}
        rows.append({**row, "can": ["in", "out"], "active_low": lit == 0})
    lights = {row["pin"] for row in rows}
    rows += _button_row(facts, usable)
    taken = {row["pin"] for row in rows}
    names = {row["name"] for row in rows}
    for pin, uses in usable.items():
        label = _label(facts.pins[pin[1:]])
        if pin in taken | lights or not label or label in names or len(rows) >= _OWN_PINS_MOST:
            continue
        names.add(label)
        is_analog = label.startswith("a") and "adc" in uses
        can = {"can": ["adc"]} if is_analog else {"can": ["in", "out"], "floating": True}
        rows.append({"name": label, "pin": pin, **can})
    return rows


def _button_row(facts: BoardFacts, usable: dict[str, str]) -> list[dict[str, Any]]:
    for name, pin in facts.pins.items():
        if f"P{name}" in usable and facts.pressed is not None and set(pin.names) & {*_BUTTONS}:
            low = bool(pin.level) != facts.pressed
            return [{"name": "button", "pin": f"P{name}", "can": ["in"], "active_low": low}]
    return []


def _label(pin: PinFacts) -> str:
    """Return what is printed beside the pin, in small letters; empty where nothing is."""
    # The first is the chip's own name, which may look alike
    printed = [name for name in pin.names[1:] if _PRINTED.fullmatch(name)]
    return min(printed, key=len).lower() if printed else ""
