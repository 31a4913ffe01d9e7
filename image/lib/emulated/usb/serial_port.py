"""The USB port of an STM32: a CDC-ACM device whose bytes go to a simulated board's terminal."""

import os
import time
import tty
from pathlib import Path

from image.lib.emulated.usb.device import BULK, IN, INTERRUPT, Endpoint, Face, Interface, Stalled

_CLASS = 0x20
_SET_LINE_CODING, _GET_LINE_CODING, _SET_LINES, _SEND_BREAK = 0x20, 0x21, 0x22, 0x23
_DATA_TERMINAL_READY = 1
# Header, call management, what it can do (line coding), and that both interfaces are one function
_FUNCTIONS = bytes.fromhex("05240010010524010001042402020524060001")
# 115200 baud, 8 data bits, no parity, 1 stop bit; USB has no use for it
_LINE_CODING = bytes.fromhex("00c20100000008")
_READ_BYTES = 4096
_OUT, _NOTICES, _DATA = 1, IN | 2, IN | 1
FACE = Face(
    0x0483,
    0x5740,
    (2, 0, 0),
    (
        Interface((2, 2, 1), (Endpoint(_NOTICES, INTERRUPT, 8, 0),), _FUNCTIONS),
        Interface((10, 0, 0), (Endpoint(_OUT, BULK, 64, 1), Endpoint(_DATA, BULK, 64, 1))),
    ),
    ("Barnacle", "Simulated board", "SIM0001"),
)


class SerialPort:
    """Both ends are real: the guest's cdc_acm, and the firmware behind the terminal."""

    face = FACE

    def __init__(self, terminal: Path) -> None:
        self._handle = os.open(terminal, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        tty.setraw(self._handle)
        self._is_open = False
        # When the last byte came, on the clock of the board's record
        self.heard_ms = 0.0

    def fileno(self) -> int:
        return self._handle

    def close(self) -> None:
        os.close(self._handle)

    def request(self, kind: int, request: int, value: int, index: int, data: bytes) -> bytes:
        del index, data
        if request == _GET_LINE_CODING:
            return _LINE_CODING
        if request == _SET_LINES:
            self._is_open = bool(value & _DATA_TERMINAL_READY)
        elif not kind & _CLASS or request not in {_SET_LINE_CODING, _SEND_BREAK}:
            raise Stalled
        return b""

    def take(self, endpoint: int, data: bytes) -> None:
        del endpoint
        # A board that is stuck takes nothing; its buffer is full, and the rest is lost
        while data:
            try:
                self.heard_ms = time.monotonic() * 1000
                data = data[os.write(self._handle, data) :]
            except BlockingIOError:
                return

    def give(self, most_bytes: int) -> bytes:
        try:
            data = os.read(self._handle, min(most_bytes, _READ_BYTES))
        except (BlockingIOError, OSError):
            return b""
        # What is said to nobody is lost, as on a real port
        return data if self._is_open else b""
