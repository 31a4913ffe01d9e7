"""The numbers of the board's methods, and its pins as arguments, for the tests beside this file."""

from firmware.host.bundle import board_file
from firmware.host.wire import Wire

GPIO_WRITE = 16
GPIO_READ = 17
ADC_READ = 18
MCU_TEMPERATURE = 19

PINS = {row["name"]: bytes([index]) for index, row in enumerate(board_file("simulated").PINS)}
ON = b"\x01"
OFF = b"\x00"
# A busy machine calls the simulated interrupt late; `scripts/bench-link` measures the true time
LATE_MS = 400


def switch(wire: Wire, pin: str, value: bytes) -> bytes:
    """Write a pin and return what was read back."""
    return wire.call(GPIO_WRITE, PINS[pin] + value)
