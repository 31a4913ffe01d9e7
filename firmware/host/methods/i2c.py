"""What the manifest says of I2C buses.

Ids and formats are those of firmware/node/devices/i2c.py; `needs` is not part of the manifest.
"""

from typing import Any

BYTES_MOST = 32
BUS = {"name": "pin", "format": "B", "pins": "i2c"}
ADDRESS = {"name": "address", "format": "B", "minimum": 8, "maximum": 119}

METHODS: tuple[dict[str, Any], ...] = (
    {
        "needs": "i2c",
        "id": 28,
        "name": "i2c_scan",
        "about": "The addresses, in hex, at which something answers on an I2C bus.",
        "arguments": [BUS],
        "result": [{"name": "addresses", "format": "s", "maximum": 112}],
        "safety": "read",
        "idempotent": True,
        "lease": False,
    },
    {
        "needs": "i2c",
        "id": 29,
        "name": "i2c_read",
        "about": "Read bytes from an I2C device, from a register on; register -1 names none.",
        "arguments": [
            BUS,
            ADDRESS,
            {"name": "register", "format": "h", "minimum": -1, "maximum": 255},
            {"name": "count", "format": "B", "minimum": 1, "maximum": BYTES_MOST},
        ],
        "result": [{"name": "data", "format": "s", "maximum": BYTES_MOST}],
        "safety": "read",
        # Some devices forget what was read
        "idempotent": False,
        "lease": False,
    },
    {
        "needs": "i2c",
        "id": 30,
        "name": "i2c_write",
        "about": "Write bytes to an I2C device, the register first; answers how many it took.",
        "arguments": [BUS, ADDRESS, {"name": "data", "format": "s", "maximum": BYTES_MOST}],
        "result": [{"name": "taken", "format": "B", "unit": "bytes"}],
        "safety": "hazard",
        "idempotent": False,
        "lease": False,
    },
)
