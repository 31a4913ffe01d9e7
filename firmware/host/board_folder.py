"""Board files of one's own: what `barnacle board describe` has written beside the configuration.

Data and no program, since whoever may change a configuration must not run code by it.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

from agent.settings import SYSTEM_CONFIG, find_config

FOLDER = "boards"
_LINKS = ("usb", "uart")
# Of a board file, and what each must be
_FIELDS: Mapping[str, type] = {
    "name": str,
    "link": list,
    "receive_window_bytes": int,
    "flash_class": int,
    "is_small": bool,
    "supply_mv": int,
    "has_mcu_temperature": bool,
    "prompt_window_ms": int,
    "deadman_timer": int,
    "boot_register": int,
    "pins": list,
    "usable": dict,
}
_ROW_KEYS = frozenset(
    [
        "name",
        "pin",
        "aliases",
        "can",
        "active_low",
        "safe",
        "lease_ms",
        "pull",
        "floating",
        "max_on_ms",
        "min_off_ms",
        "per_minute",
        "needs",
    ]
)
# By the timer of the dead man's handle: where any STM32 has its channel, after MicroPython's tables
_DEADMAN_PINS: Mapping[int, frozenset[str]] = {
    11: frozenset({"PB9", "PF7"}),
    14: frozenset({"PA4", "PA7", "PB1", "PC12", "PF0", "PF9"}),
    17: frozenset({"PA7", "PB5", "PB9", "PD1", "PE1", "PF7"}),
}
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PIN = re.compile(r"P[A-K]\d{1,2}")
_CAN = {"in", "out", "adc"}
_USES = {"gpio", "adc", "pwm"}
# The masks of the link have room for these
_PINS_MOST = 30
_WINDOW_BYTES = range(256, 255 * 16 + 1, 16)
_SUPPLY_MV = range(1_700, 3_601)
# Registers of peripherals are here; 0 is none
_REGISTERS = range(0x4000_0000, 0x6000_0000, 4)


class BadBoardFile(Exception):
    """A board file that cannot be used; the text says which, where and why."""


def folder() -> Path:
    """Return the folder beside the configuration of this person or this machine."""
    return (find_config(os.environ) or SYSTEM_CONFIG).parent / FOLDER


def described_names() -> list[str]:
    """Return the boards that there is a file of one's own for."""
    return sorted(path.stem for path in folder().glob("*.toml"))


def described_board(name: str) -> ModuleType:
    """Return that board file in the shape of one of `firmware/boards`.

    Raises:
        BadBoardFile: it says something that no board has, or lacks something.
    """
    path = folder() / f"{name}.toml"
    try:
        table = tomllib.loads(path.read_text())
    except (OSError, ValueError) as err:
        raise BadBoardFile(f"{path}: {err}") from err
    # Of a file that was written before boards told it
    table.setdefault("boot_register", 0)
    if trouble := _trouble(table):
        raise BadBoardFile(f"{path}: {trouble}")
    table["usable"] = _without_deadman(table["usable"], table["deadman_timer"])
    table["pins"] = tuple({**row, "can": tuple(row["can"])} for row in table["pins"])
    table["link"] = tuple(table["link"])
    fields = {key.upper(): value for key, value in table.items()}
    return cast("ModuleType", SimpleNamespace(**fields))


def _trouble(table: Mapping[str, Any]) -> str:
    for key, kind in _FIELDS.items():
        # A bool is an int to Python
        if type(table.get(key)) is not kind:
            return f"`{key}` is missing or is no {kind.__name__}"
    link = table["link"]
    if len(link) != 3 or link[0] not in _LINKS or not all(type(one) is int for one in link[1:]):
        return '`link` is ["usb", 0, 0] or ["uart", its number, its rate or 0]'
    if table["receive_window_bytes"] not in _WINDOW_BYTES or table["flash_class"] not in range(4):
        return "`receive_window_bytes` is 256 to 4080 in steps of 16, `flash_class` 0 to 3"
    if table["supply_mv"] not in _SUPPLY_MV or not table["deadman_timer"]:
        return "`supply_mv` is 1700 to 3600, and `deadman_timer` the number of a timer"
    if table["boot_register"] and table["boot_register"] not in _REGISTERS:
        return "`boot_register` is the address of a backup register, or 0"
    return _trouble_of_pins(table["pins"]) or _trouble_of_uses(table["usable"])


def _trouble_of_pins(rows: list[Any]) -> str:
    if len(rows) > _PINS_MOST:
        return f"more than {_PINS_MOST} pins"
    for row in rows:
        if type(row) is not dict or not _ROW_KEYS >= row.keys() >= {"name", "pin", "can"}:
            return f"a pin has `name`, `pin` and `can`, and of other keys only known ones: {row}"
        if not _NAME.fullmatch(str(row["name"])) or not _PIN.fullmatch(str(row["pin"])):
            return f"{row['name']}: a name in small letters, and a pin such as PB12"
        if not row["can"] or not _CAN.issuperset(row["can"]):
            return f"{row['name']}: `can` is some of in, out, adc"
    for key in ("name", "pin"):
        said = [row[key] for row in rows]
        if len(said) != len(set(said)):
            return f"two pins have the same {key}"
    return ""


def _trouble_of_uses(uses: Mapping[str, Any]) -> str:
    for pin, said in uses.items():
        if not _PIN.fullmatch(pin) or not _USES.issuperset(str(said).split()):
            return f"usable.{pin}: some of gpio, adc, pwm for a pin such as PB12"
    return ""


def _without_deadman(uses: Mapping[str, str], timer: int) -> dict[str, str]:
    """Return the uses without a PWM that could stop that timer.

    Files of earlier descriptions say `pwm` where the pin has a channel of another timer besides:
    which of them it becomes is MicroPython's choice.
    """
    taken = _DEADMAN_PINS.get(timer, frozenset())
    return {
        pin: " ".join(use for use in said.split() if pin not in taken or use != "pwm")
        for pin, said in uses.items()
    }
