"""What the manifest says of outputs that are on for a share of the time.

Ids and formats are those of firmware/node/devices/pwm.py; `needs` is not part of the manifest.
"""

from typing import Any

DUTY = {"name": "duty", "format": "H", "minimum": 0, "maximum": 100, "unit": "%", "scale": 0.1}
FREQUENCY = {"name": "frequency", "format": "H", "minimum": 0, "maximum": 20_000, "unit": "Hz"}

METHODS: tuple[dict[str, Any], ...] = (
    {
        "needs": "pwm",
        "id": 20,
        "name": "pwm_write",
        "about": "Set an output's share of on-time. Frequency 0 keeps the one it has. "
        "It returns to its safe duty when nobody renews it.",
        "arguments": [{"name": "pin", "format": "B", "pins": "pwm"}, FREQUENCY, DUTY],
        "result": [FREQUENCY, DUTY],
        "safety": "actuate",
        "idempotent": True,
        "lease": True,
    },
)
