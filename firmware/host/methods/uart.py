"""What the manifest says of the bridge to a UART.

Ids and formats are those of firmware/node/devices/uart.py; `needs` is not part of the manifest.
"""

from typing import Any

PIN = {"name": "pin", "format": "B", "pins": "uart"}
DATA = {"name": "data", "format": "s", "maximum": 128, "text": True}

METHODS: tuple[dict[str, Any], ...] = (
    {
        "needs": "uart",
        "id": 32,
        "name": "uart_write",
        "about": "Send text to a device on a UART.",
        "arguments": [PIN, DATA],
        "result": [{"name": "taken", "format": "B", "unit": "bytes"}],
        "safety": "hazard",
        "idempotent": False,
        "lease": False,
    },
    {
        "needs": "uart",
        "id": 33,
        "name": "uart_read",
        "about": "What a device on a UART has said since the last time, and how much was lost.",
        "arguments": [PIN],
        "result": [{"name": "lost", "format": "I", "unit": "bytes"}, DATA],
        "safety": "read",
        "idempotent": False,
        "lease": False,
    },
)
