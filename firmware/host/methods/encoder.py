"""What the manifest says of rotary encoders.

Ids and formats are those of firmware/node/devices/encoder.py; `needs` is not part of the manifest.
"""

from typing import Any

METHODS: tuple[dict[str, Any], ...] = (
    {
        "needs": "encoder",
        "id": 24,
        "name": "encoder_read",
        "about": "The position of a rotary encoder in edges since the start: often 4 to a click.",
        "arguments": [{"name": "pin", "format": "B", "pins": "encoder"}],
        "result": [
            {
                "name": "position",
                "format": "i",
                "minimum": -0x10000000,
                "maximum": 0x0FFFFFFF,
                "unit": "edges",
            }
        ],
        "safety": "read",
        "idempotent": True,
        "lease": False,
    },
)
