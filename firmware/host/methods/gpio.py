"""What the manifest says of digital pins.

Ids and formats are those of firmware/node/gpio.py; `needs` is not part of the manifest.
"""

from typing import Any

PIN_VALUE = {"name": "value", "format": "B", "choices": ["off", "on"]}

METHODS: tuple[dict[str, Any], ...] = (
    {
        "needs": "out",
        "id": 16,
        "name": "gpio_write",
        "about": "Switch an output on or off. It returns to its safe value when nobody renews it.",
        "arguments": [{"name": "pin", "format": "B", "pins": "out"}, PIN_VALUE],
        "result": [PIN_VALUE],
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
        "result": [PIN_VALUE],
        "safety": "read",
        "idempotent": True,
        "lease": False,
    },
)
