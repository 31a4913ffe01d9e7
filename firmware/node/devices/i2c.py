# An I2C bus on any two pins: what is there, and raw reads and writes.
#
# What is written may move something: it is refused while the outputs are locked. 32 bytes take
# 3 ms at 100 kHz.

import struct
from time import ticks_diff, ticks_ms

import frame
import machine
from micropython import const
from node.calls import AT, Refusal, need
from node.devices import data
from node.devices.data import require_unlocked

I2C_SCAN = 28
I2C_READ = 29
I2C_WRITE = 30

# The others are reserved by the bus itself
_ADDRESS_LEAST = const(0x08)
_ADDRESS_MOST = const(0x77)
_DATA_MOST_BYTES = const(32)
# A device may hold the clock so long
_STRETCH_US = const(1_000)
# What a bus that is held says
_TIMED_OUT = const(110)
# A tenth of a millisecond each at 100 kHz
_PROBES_IN_A_PASS = const(16)
# For so long a scan is worth telling
_FRESH_MS = const(5_000)


def open_bus(entry):
    # Of any entry that has the two lines: `pin` is the clock
    return machine.SoftI2C(
        scl=machine.Pin(entry["pin"]),
        sda=machine.Pin(entry["sda"]),
        freq=entry["frequency"],
        timeout=_STRETCH_US,
    )


def require_free(sda):
    # A data line that stays low while nobody speaks looks like an answer to everything
    if not machine.Pin(sda).value():
        raise OSError(_TIMED_OUT)


class I2c:
    def __init__(self, entry):
        self._bus = open_bus(entry)
        self._sda = entry["sda"]
        self._found = bytearray(_ADDRESS_MOST)
        self._count = 0
        # The next address to probe; beyond the last one when no scan is under way
        self._probing = _ADDRESS_MOST + 1
        self._scanned_ms = ticks_ms()
        self._has_news = False

    def handlers(self):
        return {I2C_SCAN: self._scan, I2C_READ: self._read, I2C_WRITE: self._write}

    def tick(self, now_ms):
        last = min(self._probing + _PROBES_IN_A_PASS, _ADDRESS_MOST + 1)
        while self._probing < last:
            self._probe()
            self._probing += 1
            self._scanned_ms = now_ms
            self._has_news = True

    def _probe(self):
        try:
            self._bus.writeto(self._probing, b"")
            require_free(self._sda)
        except OSError as fault:
            if fault.errno == _TIMED_OUT:
                self._is_held = True
                self._probing = _ADDRESS_MOST
            return
        self._found[self._count] = self._probing
        self._count += 1

    def _scan(self, _arguments, answer, _outputs):
        # The first question starts it, in small steps; a later one gets the answer, once
        if self._probing > _ADDRESS_MOST:
            is_fresh = 0 <= ticks_diff(ticks_ms(), self._scanned_ms) < _FRESH_MS
            if self._has_news and is_fresh:
                self._has_news = False
                if self._is_held:
                    raise Refusal(frame.IO, "something holds the bus")
                return data.put(answer, self._found, self._count)
            self._count = 0
            self._is_held = False
            self._probing = _ADDRESS_LEAST
        raise Refusal(frame.BUSY_CODE, "scanning: ask again in a moment")

    def _read(self, arguments, answer, _outputs):
        need(arguments, 5)
        _index, address, register, count = struct.unpack_from("<BBhB", arguments, 0)
        if not 0 < count <= _DATA_MOST_BYTES or not -1 <= register <= 255:
            raise Refusal(frame.OUT_OF_RANGE, "1 to 32 bytes of register 0 to 255, or -1 for none")
        _check(address)
        found = bytearray(count)
        try:
            if register < 0:
                self._bus.readfrom_into(address, found)
            else:
                self._bus.readfrom_mem_into(address, register, found)
            require_free(self._sda)
        except OSError:
            raise _silence(address)  # noqa: B904  - no chaining on the board
        return data.put(answer, found, count)

    def _write(self, arguments, answer, outputs):
        need(arguments, 2)
        require_unlocked(outputs)
        address = arguments[1]
        _check(address)
        given = data.take(arguments, 2, _DATA_MOST_BYTES)
        try:
            # It acknowledges every byte or refuses the rest
            answer[AT] = self._bus.writeto(address, given)
            require_free(self._sda)
        except OSError:
            raise _silence(address)  # noqa: B904  - no chaining on the board
        return 1


def _silence(address):
    return Refusal(frame.IO, "no device answers at address %d" % address)


def _check(address):
    if not _ADDRESS_LEAST <= address <= _ADDRESS_MOST:
        raise Refusal(frame.OUT_OF_RANGE, "an address is 8 to 119")
