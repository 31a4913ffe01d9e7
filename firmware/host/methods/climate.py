"""What the manifest says of sensors of temperature, humidity and pressure.

Ids and formats are those of firmware/node/devices/ds18b20.py, dht22.py and bme280.py; `needs` is
not part of the manifest.
"""

from typing import Any

METHODS: tuple[dict[str, Any], ...] = (
    {
        "needs": "celsius",
        "id": 25,
        "name": "celsius_read",
        "about": "Measure a temperature.",
        "arguments": [{"name": "pin", "format": "B", "pins": "celsius"}],
        "result": [
            {
                "name": "value",
                "format": "h",
                "minimum": -55,
                "maximum": 125,
                "unit": "°C",
                "scale": 0.01,
            }
        ],
        "safety": "read",
        "idempotent": True,
        "lease": False,
    },
    {
        "needs": "climate",
        "id": 26,
        "name": "climate_read",
        "about": "Measure temperature and relative humidity, and air pressure where it can.",
        "arguments": [{"name": "pin", "format": "B", "pins": "climate"}],
        "result": [
            {
                "name": "temperature",
                "format": "h",
                "minimum": -40,
                "maximum": 125,
                "unit": "°C",
                "scale": 0.01,
            },
            {
                "name": "humidity",
                "format": "H",
                "minimum": 0,
                "maximum": 100,
                "unit": "%",
                "scale": 0.01,
            },
            {
                "name": "pressure",
                "format": "I",
                "minimum": 300,
                "maximum": 1100,
                "unit": "hPa",
                "scale": 0.01,
                "optional": True,
            },
        ],
        "safety": "read",
        "idempotent": True,
        "lease": False,
    },
)
