"""What the manifest says of analog pins.

Ids and formats are those of firmware/node/analog.py; `needs` is not part of the manifest.
"""

from typing import Any

METHODS: tuple[dict[str, Any], ...] = (
    {
        "needs": "adc",
        "id": 18,
        "name": "adc_read",
        "about": "Measure the voltage at an analog pin.",
        "arguments": [{"name": "pin", "format": "B", "pins": "adc"}],
        "result": [
            {
                "name": "value",
                "format": "H",
                "minimum": 0,
                "maximum": 3.3,
                "unit": "V",
                "scale": 0.001,
            }
        ],
        "safety": "read",
        "idempotent": True,
        "lease": False,
    },
)
