"""What the manifest says of chains of NeoPixels.

Ids and formats are those of firmware/node/devices/neopixel.py; `needs` is not part of the manifest.
"""

from typing import Any

# How many pixels a chain really has stands in its configuration
PIXELS_MOST = 64

METHODS: tuple[dict[str, Any], ...] = (
    {
        "needs": "pixels",
        "id": 27,
        "name": "pixels_write",
        "about": "Give count pixels from first on one colour; the others keep theirs. "
        "All go dark when nobody renews them.",
        "arguments": [
            {"name": "pin", "format": "B", "pins": "pixels"},
            {"name": "first", "format": "B", "minimum": 0, "maximum": PIXELS_MOST - 1},
            {"name": "count", "format": "B", "minimum": 1, "maximum": PIXELS_MOST},
            {"name": "red", "format": "B"},
            {"name": "green", "format": "B"},
            {"name": "blue", "format": "B"},
        ],
        "result": [{"name": "lit", "format": "B", "unit": "pixels"}],
        "safety": "actuate",
        "idempotent": True,
        "lease": True,
    },
)
