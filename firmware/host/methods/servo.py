"""What the manifest says of servos.

Ids and formats are those of firmware/node/devices/servo.py; `needs` is not part of the manifest.
"""

from typing import Any

# How far a servo really turns stands in its configuration
ANGLE = {"name": "angle", "format": "h", "minimum": -1, "maximum": 360, "unit": "°"}

METHODS: tuple[dict[str, Any], ...] = (
    {
        "needs": "servo",
        "id": 21,
        "name": "servo_write",
        "about": "Turn a servo to an angle; -1 releases it, and so does a lease that ends.",
        "arguments": [{"name": "pin", "format": "B", "pins": "servo"}, ANGLE],
        "result": [ANGLE],
        "safety": "actuate",
        "idempotent": True,
        "lease": True,
    },
)
