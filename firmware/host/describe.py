"""Makes what a board says of itself: the manifest of firmware/README.md, from the board file.

Made here and not on the board, because MicroPython on an STM32 can decompress and not compress.
"""

import hashlib
import json
import zlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any

LEASE_DEFAULT_MS = 2_000
# The bit masks of leases are small integers on the MCU up to this many pins
PINS_MOST = 30
_HASH_BYTES = 8

_PIN_VALUE = {"name": "value", "format": "B", "choices": ["off", "on"]}

# Ids and formats are those of firmware/node/calls.py; `needs` is not part of the manifest
METHODS: tuple[dict[str, Any], ...] = (
    {
        "needs": "out",
        "id": 16,
        "name": "gpio_write",
        "about": "Switch an output on or off. It returns to its safe value when nobody renews it.",
        "arguments": [{"name": "pin", "format": "B", "pins": "out"}, _PIN_VALUE],
        "result": [_PIN_VALUE],
        "safety": "actuate",
        "idempotent": True,
        "lease": True,
    },
    {
        "needs": "in",
        "id": 17,
        "name": "gpio_read",
        "about": "Read whether a pin is on or off.",
        "arguments": [{"name": "pin", "format": "B", "pins": "in"}],
        "result": [_PIN_VALUE],
        "safety": "read",
        "idempotent": True,
        "lease": False,
    },
    {
        "needs": "adc",
        "id": 18,
        "name": "adc_read",
        "about": "Measure the voltage at an analog pin.",
        "arguments": [{"name": "pin", "format": "B", "pins": "adc"}],
        "result": [
            {
                "name": "value",
                "format": "H",
                "minimum": 0,
                "maximum": 3.3,
                "unit": "V",
                "scale": 0.001,
            }
        ],
        "safety": "read",
        "idempotent": True,
        "lease": False,
    },
    {
        "needs": "temperature",
        "id": 19,
        "name": "mcu_temperature",
        "about": "Measure the temperature of the board's microcontroller.",
        "arguments": [],
        "result": [
            {
                "name": "value",
                "format": "h",
                "minimum": -40,
                "maximum": 125,
                "unit": "°C",
                "scale": 0.1,
            }
        ],
        "safety": "read",
        "idempotent": True,
        "lease": False,
    },
)


def manifest(board: ModuleType) -> dict[str, Any]:
    """What the board can do, as the wire format says it."""
    can = {capability for row in board.PINS for capability in row["can"]}
    if board.HAS_MCU_TEMPERATURE:
        can.add("temperature")
    return {
        "manifest": 1,
        "board": board.NAME,
        "methods": [
            {key: value for key, value in method.items() if key != "needs"}
            for method in METHODS
            if method["needs"] in can
        ],
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
        "limits": {},
    }
