"""What the manifest says of the MCU's own thermometer.

Ids and formats are those of firmware/node/thermometer.py; `needs` is not part of the manifest.
"""

from typing import Any

METHODS: tuple[dict[str, Any], ...] = (
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
