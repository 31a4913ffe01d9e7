"""What the manifest says of the board's supply voltage.

Ids and formats are those of firmware/node/supply.py; `needs` is not part of the manifest.
"""

from typing import Any

METHODS: tuple[dict[str, Any], ...] = (
    {
        "needs": "supply",
        "id": 34,
        "name": "supply_read",
        "about": "Measure the supply voltage of the board's microcontroller.",
        "arguments": [],
        "result": [
            {
                "name": "value",
                "format": "H",
                "minimum": 1.5,
                "maximum": 4,
                "unit": "V",
                "scale": 0.001,
            }
        ],
        "safety": "read",
        "idempotent": True,
        "lease": False,
    },
)
