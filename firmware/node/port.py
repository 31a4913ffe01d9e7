# The stream of bytes to the Pi: the board's USB or a UART.
#
# Writing is bounded: what does not go out at once is lost, and the link sends it again.

from time import ticks_diff, ticks_ms

import machine
import pyb
from micropython import const

_RING_BYTES = const(512)


def open_stream(link):
    # `link` is the board file's LINK: kind, number and baud rate, where rate 0 means "as it is",
    # which is all that the UART of the REPL allows.
    kind, number, baudrate = link
    if kind == "usb":
        return pyb.USB_VCP(number)
    if baudrate:
        return machine.UART(number, baudrate, timeout=0, rxbuf=_RING_BYTES)
    return machine.UART(number)


class Port:
    # `baudrate` is what it was opened with; 0 is one that nobody can change.

    def __init__(self, stream, baudrate=0):
        self._stream = stream
        self.baudrate = baudrate

    def wait(self, limit_ms):
        # Until something has arrived or the time is over; the MCU sleeps between its interrupts
        began_ms = ticks_ms()
        while not self._stream.any() and ticks_diff(ticks_ms(), began_ms) < limit_ms:
            machine.idle()

    def read_into(self, buffer):
        waiting = self._stream.any()
        if not waiting:
            return 0
        if waiting is True:  # USB says only that there is something
            return self._stream.readinto(buffer) or 0
        # A UART would wait 2 ms for a byte more than there are
        return self._stream.readinto(buffer, min(waiting, len(buffer))) or 0

    def set_baudrate(self, baudrate):
        # Once what was written is out. Starting a UART anew takes its ring away, if not given again
        self._stream.flush()
        self._stream.init(baudrate, timeout=0, rxbuf=_RING_BYTES)

    def write(self, data, length):
        try:
            return self._stream.write(data, length) == length
        except OSError:
            return False
