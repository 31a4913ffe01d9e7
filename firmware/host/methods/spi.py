"""What the manifest says of SPI buses.

Ids and formats are those of firmware/node/devices/spi.py; `needs` is not part of the manifest.
"""

from typing import Any

DATA = {"name": "data", "format": "s", "maximum": 32}

METHODS: tuple[dict[str, Any], ...] = (
    {
        "needs": "spi",
        "id": 31,
        "name": "spi_transfer",
        "about": "Send bytes over SPI and answer those that came back meanwhile.",
        "arguments": [{"name": "pin", "format": "B", "pins": "spi"}, DATA],
        "result": [DATA],
        "safety": "hazard",
        "idempotent": False,
        "lease": False,
    },
)
