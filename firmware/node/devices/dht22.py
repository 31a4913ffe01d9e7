# A DHT22 (AM2302): temperature and humidity over a line of its own.
#
# MicroPython's own driver stops everything for 270 ms. This one measures by itself: it pulls the
# line low in one pass of the loop and listens in the next, which takes at most 5 ms. Interrupts
# stay on; a bit that one of them spoils fails the checksum, and the last good value stays a while.

import struct
from time import ticks_add, ticks_diff, ticks_ms

import frame
import machine
from micropython import const
from node.calls import AT, Refusal

CLIMATE_READ = 26

# It needs 2 s between two measurements, and after its power has come
_PAUSE_MS = const(2_200)
# It wants to be called for 1 ms to 20 ms
_CALL_MS = const(2)
_BITS = const(40)
# With the answer to the call, and with the rest of the silence before it
_PULSES_MOST = const(42)
# A zero is 26 us long and a one is 70 us; no pulse comes later than this
_ONE_FROM_US = const(48)
_PULSE_LIMIT_US = const(150)
# This many measurements may fail before the last good one is too old
_FAILURES_MOST = const(3)


class Dht22:
    def __init__(self, entry):
        self._pin = machine.Pin(entry["pin"], machine.Pin.OPEN_DRAIN, machine.Pin.PULL_UP, value=1)
        self._pulses = bytearray(_PULSES_MOST)
        self._is_calling = False
        self._next_ms = ticks_add(ticks_ms(), _PAUSE_MS)
        self._failures = _FAILURES_MOST
        self._code = frame.BUSY_CODE
        self._trouble = "the first measurement is under way"

    def value(self, part=0):
        # In hundredths of a degree or of a percent
        if part > 1:
            return None
        if self._failures >= _FAILURES_MOST:
            raise Refusal(self._code, self._trouble)
        return (self._humidity_tenths if part else self._tenths) * 10

    def handlers(self):
        return {CLIMATE_READ: self._read}

    def tick(self, now_ms):
        if ticks_diff(now_ms, self._next_ms) < 0:
            return
        if not self._is_calling:
            self._is_calling = True
            self._pin.value(0)
            self._next_ms = ticks_add(now_ms, _CALL_MS)
            return
        self._is_calling = False
        self._next_ms = ticks_add(now_ms, _PAUSE_MS)
        self._pin.value(1)
        trouble = self._listen()
        if trouble:
            self._failures += 1
            self._code = frame.IO
            self._trouble = trouble
        else:
            self._failures = 0

    def _listen(self):
        # Returns what went wrong, None when a measurement was understood. There is no time between
        # two pulses: the bits are put together afterwards. The last 40 count, because the first
        # ones depend on how soon we began to listen.
        measure = machine.time_pulse_us
        pin = self._pin
        pulses = self._pulses
        count = 0
        while count < _PULSES_MOST:
            width_us = measure(pin, 1, _PULSE_LIMIT_US)
            if width_us < 0:
                break
            pulses[count] = width_us
            count += 1
        if count < _BITS:
            return "the DHT22 fell silent" if count else "no DHT22 answers"
        return self._understand(count - _BITS)

    def _understand(self, first):
        data = bytearray(_BITS // 8)
        for bit in range(_BITS):
            one = 1 if self._pulses[first + bit] > _ONE_FROM_US else 0
            data[bit >> 3] = (data[bit >> 3] << 1 | one) & 0xFF
        if (data[0] + data[1] + data[2] + data[3]) & 0xFF != data[4]:
            return "the DHT22's checksum is wrong"
        humidity = data[0] << 8 | data[1]
        tenths = (data[2] & 0x7F) << 8 | data[3]
        if data[2] >= 0xC0:
            # No sign and number, as in the data sheet: some send the complement of two
            tenths = 0x8000 - tenths
        if humidity > 1000 or tenths > 1250:
            return "the DHT22 says what cannot be"
        self._humidity_tenths = humidity
        self._tenths = -tenths if data[2] & 0x80 else tenths
        return None

    def _read(self, _arguments, answer, _outputs):
        # No pressure: the result ends before it
        struct.pack_into("<hH", answer, AT, self.value(0), self.value(1))
        return 4
