"""Makes what a board says of itself: the manifest of firmware/README.md, from the board file.

Made here and not on the board, because MicroPython on an STM32 can decompress and not compress.
"""

import hashlib
import json
import zlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from agent.link.devices import device_table
from agent.link.devices.device_row import DeviceField, DeviceMethod
from agent.link.devices.device_table import BOARD_METHODS
from firmware.host.board_source import kinds_of

LEASE_DEFAULT_MS = 2_000
# The bit masks of leases are small integers on the MCU up to this many pins
PINS_MOST = 30
_HASH_BYTES = 8
# What firmware/node/limits.py and the interlocks of a row hold it to
LIMITS = ("max_on_ms", "min_off_ms", "per_minute", "needs")


def _told(method: DeviceMethod) -> dict[str, Any]:
    """Return a method as the manifest has it."""
    return {
        "id": method.id,
        "name": method.name,
        "about": method.about,
        "arguments": [_told_field(field) for field in method.arguments],
        "result": [_told_field(field) for field in method.result],
        "safety": method.safety,
        "idempotent": method.idempotent,
        "lease": method.lease,
    }


def _told_field(field: DeviceField) -> dict[str, Any]:
    """Return what differs from the reader's defaults, as JSON has it."""
    defaults = field._field_defaults
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in field._asdict().items()
        if name not in defaults or value != defaults[name]
    }


# Every method that this firmware knows, by its number
METHODS = tuple(_told(method) for method in device_table.methods())
# What the converter of the MCU measures by itself; every other method is for pins, and which pins
# there are is for the configuration to say
_WITHOUT_PINS = frozenset(method.id for method in BOARD_METHODS)


def manifest(board: ModuleType) -> dict[str, Any]:
    """Return the board's abilities in the wire format."""
    lacks = frozenset() if board.HAS_MCU_TEMPERATURE else _WITHOUT_PINS
    kinds = kinds_of(board)
    known = {method.id for row in kinds for method in row.methods} | _WITHOUT_PINS
    return {
        "manifest": 1,
        "board": board.NAME,
        "methods": [method for method in METHODS if method["id"] in known - lacks],
        "events": [],
        "pins": [_pin(index, row) for index, row in enumerate(board.PINS)],
    }


def packed(board: ModuleType) -> tuple[bytes, bytes]:
    """The compressed manifest and the hash of what it is compressed from."""
    if len(board.PINS) > PINS_MOST:
        raise ValueError(f"{board.NAME}: more than {PINS_MOST} pins")
    text = json.dumps(manifest(board), ensure_ascii=False, separators=(",", ":")).encode()
    return zlib.compress(text, 9), hashlib.sha256(text).digest()[:_HASH_BYTES]


def source(board: ModuleType, build: int) -> str:
    """The module `description` that goes onto the board."""
    blob, digest = packed(board)
    return (
        "# Made by firmware/host/describe.py; not to be edited.\n"
        f"BUILD = {build}\n"
        f"MANIFEST_HASH = {digest!r}\n"
        f"MANIFEST = {blob!r}\n"
    )


def _pin(index: int, row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "index": index,
        "name": row["name"],
        "pin": row["pin"],
        "aliases": list(row.get("aliases", ())),
        "can": list(row["can"]),
        "active_low": row.get("active_low", False),
        "safe": row.get("safe", 0),
        "lease_ms": row.get("lease_ms", LEASE_DEFAULT_MS),
        "limits": {name: row[name] for name in LIMITS if name in row},
    }
