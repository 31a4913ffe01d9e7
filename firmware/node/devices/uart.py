# A bridge to something that speaks over a UART: a GPS receiver, a CO2 sensor, a modem.
#
# Both directions have a buffer of fixed size. A full one refuses what should be sent, and counts
# what arrived and was lost.

import struct

import board
import frame
import machine
from micropython import const
from node.calls import AT, Refusal
from node.devices import data
from node.devices.data import require_unlocked

UART_WRITE = 32
UART_READ = 33

_BUFFER_BYTES = const(256)
_DATA_MOST_BYTES = const(128)
# Writing waits for all but the last byte: no longer than this in one pass
_WRITE_MS = const(4)
_BITS_OF_A_BYTE = const(10)


class Uart:
    def __init__(self, entry):
        baud, number = entry["baud"], entry["uart"]
        if board.LINK[0] == "uart" and board.LINK[1] == number:
            raise ValueError("this UART is the link to the Pi")
        self._uart = machine.UART(number, baud, timeout=0, rxbuf=_BUFFER_BYTES)
        self._at_once = max(1, min(_BUFFER_BYTES, baud * _WRITE_MS // (1000 * _BITS_OF_A_BYTE)))
        self._received = bytearray(_BUFFER_BYTES)
        self._count = 0
        self._lost = 0
        self._sending = bytearray(_BUFFER_BYTES)
        self._unsent = 0

    def close(self):
        self._uart.deinit()

    def handlers(self):
        return {UART_WRITE: self._write, UART_READ: self._read}

    def tick(self, _now_ms):
        waiting = self._uart.any()
        if waiting:
            self._receive(waiting)
        if self._unsent:
            self._send()

    def _receive(self, waiting):
        free = _BUFFER_BYTES - self._count
        if free:
            view = memoryview(self._received)[self._count :]
            self._count += self._uart.readinto(view, min(waiting, free)) or 0
        else:
            # The oldest stay: they are what somebody waits for
            self._lost += len(self._uart.read(waiting) or b"")

    def _send(self):
        if self._outputs.stopped:
            # What waits since before an emergency stop is no more to be sent than anything new
            self._unsent = 0
            return
        count = min(self._unsent, self._at_once)
        sent = self._uart.write(memoryview(self._sending)[:count]) or 0
        self._sending[: self._unsent - sent] = self._sending[sent : self._unsent]
        self._unsent -= sent

    def _write(self, arguments, answer, outputs):
        require_unlocked(outputs)
        given = data.take(arguments, 1, _DATA_MOST_BYTES)
        count = len(given)
        if count > _BUFFER_BYTES - self._unsent:
            raise Refusal(frame.BUSY_CODE, "still sending: ask again in a moment")
        self._sending[self._unsent : self._unsent + count] = given
        self._unsent += count
        self._outputs = outputs
        answer[AT] = count
        return 1

    def _read(self, _arguments, answer, _outputs):
        count = min(self._count, _DATA_MOST_BYTES)
        struct.pack_into("<I", answer, AT, self._lost)
        answer[AT + 4] = count
        answer[AT + 5 : AT + 5 + count] = memoryview(self._received)[:count]
        self._received[: self._count - count] = self._received[count : self._count]
        self._count -= count
        self._lost = 0
        return 5 + count
