"""An I2C bus on USB (i2c-tiny-usb, which the kernel knows) with one chip: a thermometer at 0x48.

It stands for the Pi's own bus, which an emulated machine does not have.
"""

import struct

from image.lib.emulated.usb.device import Face, Interface, Stalled

_ECHO, _FUNCTIONS, _DELAY, _STATUS, _TRANSFER = 0, 1, 2, 3, 4
_ANSWERED, _NOBODY = 1, 2
_READS = 0x80
# Plain transfers and everything of SMBus that can be made of them
_ABILITIES = 0x0EFF0001
# As much as a transfer may ask for
_IDLE = b"\xff" * 255
CHIP = 0x48
# Two bytes each: temperature in 1/256 degrees (25.5), configuration, the two limits
REGISTERS = (0x1980, 0x0000, 0x4B00, 0x5000)
FACE = Face(
    0x1C40, 0x0534, (0xFF, 0, 0), (Interface((0xFF, 0, 0)),), ("Barnacle", "I2C bus", "SIM0002")
)


class I2cAdapter:
    """One master, and a chip that keeps what is written to it."""

    face = FACE

    def __init__(self) -> None:
        self.registers = bytearray(struct.pack(">4H", *REGISTERS))
        self._at = 0
        self._status = 0

    def fileno(self) -> int:
        return -1

    def request(self, kind: int, request: int, value: int, index: int, data: bytes) -> bytes:
        if request & _TRANSFER:
            return self._transfer(index, data, reads=bool(kind & _READS))
        if request == _ECHO:
            return struct.pack("<H", value)
        if request == _FUNCTIONS:
            return struct.pack("<I", _ABILITIES)
        if request == _STATUS:
            return bytes((self._status,))
        if request == _DELAY:
            return b""
        raise Stalled

    def take(self, endpoint: int, data: bytes) -> None:
        del endpoint, data

    def give(self, most_bytes: int) -> bytes:
        del most_bytes
        return b""

    def _transfer(self, address: int, data: bytes, *, reads: bool) -> bytes:
        self._status = _ANSWERED if address == CHIP else _NOBODY
        if address != CHIP:
            # A bus that nobody pulls down; the adapter tells of it in its status
            return _IDLE
        if reads:
            start = self._at * 2
            return bytes(self.registers[start:]) + bytes(self.registers)
        if data:
            self._at = data[0] % len(REGISTERS)
            start = self._at * 2
            for offset, byte in enumerate(data[1:3]):
                self.registers[start + offset] = byte
        return b""
