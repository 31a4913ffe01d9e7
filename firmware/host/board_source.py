"""Makes the module `board` that goes onto the board, from its file in firmware/boards.

What only the manifest says stays here, and tables lie in few objects: a board has little memory.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from agent.link.devices.device_row import DeviceRow
from agent.link.devices.device_table import ROWS, device_methods, rows_of

_COPIED = (
    "NAME",
    "LINK",
    "RECEIVE_WINDOW_BYTES",
    "SUPPLY_MV",
    "HAS_MCU_TEMPERATURE",
    "PROMPT_WINDOW_MS",
    "DEADMAN_TIMER",
)
_USES = tuple(dict.fromkeys(row.use for row in ROWS))
_MANIFEST_ONLY = frozenset({"aliases"})


def is_small(board: ModuleType) -> bool:
    """Return true if the board's files have too little room for every driver."""
    return bool(getattr(board, "IS_SMALL", False))


def kinds_of(board: ModuleType) -> tuple[DeviceRow, ...]:
    """Return the kinds for which the board's files have room, beside a second version of them."""
    is_middling = bool(getattr(board, "IS_MIDDLING", False))
    return rows_of(is_small=is_small(board), is_middling=is_middling)


def source(board: ModuleType) -> str:
    """The text of the module."""
    lines = ["# Made by firmware/host/board_source.py; not to be edited."]
    lines += [f"{name} = {getattr(board, name)!r}" for name in _COPIED]
    # As the places of its versions name it
    lines.append(f"CLASS = {board.FLASH_CLASS!r}")
    # The number of a word: as an address it would be no small integer
    lines.append(f"BOOT_WORD = {board.BOOT_REGISTER // 4!r}")
    lines.append(f"DEVICE_METHODS = {device_methods(kinds_of(board))!r}")
    abilities = sorted({tuple(row["can"]) for row in board.PINS})
    lines += [f"_CAN_{number} = {can!r}" for number, can in enumerate(abilities)]
    lines.append("PINS = (")
    lines += [f"    {{{_row(row, abilities)}}}," for row in board.PINS]
    lines.append(")")
    return "\n".join(lines) + "\n"


def usable(board: ModuleType) -> dict[str, str]:
    """The pins for each use, in one string with a space on either side of each."""
    pins = {
        use: [pin for pin, uses in board.USABLE.items() if use in uses.split()] for use in _USES
    }
    return {use: f" {' '.join(found)} " for use, found in pins.items()}


def _row(row: Mapping[str, Any], abilities: list[tuple[str, ...]]) -> str:
    told = {key: repr(value) for key, value in row.items() if key not in _MANIFEST_ONLY}
    told["can"] = f"_CAN_{abilities.index(tuple(row['can']))}"
    return ", ".join(f"{key!r}: {value}" for key, value in told.items())
