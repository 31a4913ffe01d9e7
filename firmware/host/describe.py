"""Makes what a board says of itself: the manifest of firmware/README.md, from the board file.

Made here and not on the board, because MicroPython on an STM32 can decompress and not compress.
"""

import hashlib
import json
import zlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from firmware.host.methods import (
    analog,
    climate,
    counter,
    encoder,
    gpio,
    i2c,
    pixels,
    pwm,
    servo,
    spi,
    supply,
    thermometer,
    uart,
)

LEASE_DEFAULT_MS = 2_000
# The bit masks of leases are small integers on the MCU up to this many pins
PINS_MOST = 30
_HASH_BYTES = 8
# What firmware/node/limits.py and the interlocks of a row hold it to
LIMITS = ("max_on_ms", "min_off_ms", "per_minute", "needs")

# Every method that this firmware knows; each feature describes its own in firmware/host/methods/
METHODS = (
    *gpio.METHODS,
    *analog.METHODS,
    *thermometer.METHODS,
    *pwm.METHODS,
    *servo.METHODS,
    *counter.METHODS,
    *encoder.METHODS,
    *climate.METHODS,
    *pixels.METHODS,
    *i2c.METHODS,
    *spi.METHODS,
    *uart.METHODS,
    *supply.METHODS,
)
# What the converter of the MCU measures by itself; every other method is for pins, and which pins
# there are is for the configuration to say
_WITHOUT_PINS = frozenset({"temperature", "supply"})


def manifest(board: ModuleType) -> dict[str, Any]:
    """What the board can do, as the wire format says it."""
    lacks = frozenset() if board.HAS_MCU_TEMPERATURE else _WITHOUT_PINS
    return {
        "manifest": 1,
        "board": board.NAME,
        "methods": [
            {key: value for key, value in method.items() if key != "needs"}
            for method in METHODS
            if method["needs"] not in lacks
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
        "limits": {name: row[name] for name in LIMITS if name in row},
    }
