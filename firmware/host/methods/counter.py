"""What the manifest says of counters of pulses.

Ids and formats are those of firmware/node/devices/counter.py; `needs` is not part of the manifest.
"""

from typing import Any

PIN = {"name": "pin", "format": "B", "pins": "count"}
COUNTED: list[dict[str, Any]] = [
    {"name": "count", "format": "I", "minimum": 0, "maximum": 0x3FFFFFFF},
    {"name": "since", "format": "I", "minimum": 0, "unit": "s", "scale": 0.001},
]

METHODS: tuple[dict[str, Any], ...] = (
    {
        "needs": "count",
        "id": 22,
        "name": "counter_read",
        "about": "How many pulses were counted, and for how long.",
        "arguments": [PIN],
        "result": COUNTED,
        "safety": "read",
        "idempotent": True,
        "lease": False,
    },
    {
        "needs": "count",
        "id": 23,
        "name": "counter_reset",
        "about": "Start counting from 0; answers what was counted until now.",
        "arguments": [PIN],
        "result": COUNTED,
        "safety": "actuate",
        "idempotent": False,
        "lease": False,
    },
)
