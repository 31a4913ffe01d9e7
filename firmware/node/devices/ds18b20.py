# A DS18B20 thermometer with power of its own, alone on its 1-Wire line or one of several.
#
# With a serial number it is called by it, and each of several has an entry of its own. A DS1822 is
# one of another family, which measures less well.
#
# It measures by itself, again and again, a small step in every pass of the loop: a reset or three
# bytes, at most 2 ms. Reading answers what the last measurement said, at once.

import struct
from time import ticks_add, ticks_diff, ticks_ms

import _onewire
import frame
import machine
from micropython import const
from node.calls import AT, Refusal
from node.devices import data

CELSIUS_READ = 25

_SKIP_ROM = const(0xCC)
_MATCH_ROM = const(0x55)
_CONVERT = const(0x44)
_READ_SCRATCHPAD = const(0xBE)
_SCRATCHPAD_BYTES = const(9)
_BYTES_IN_A_PASS = const(3)
# With all its 12 bits, and a little more
_CONVERSION_MS = const(760)
# So that measuring does not warm what is measured
_PAUSE_MS = const(1_200)
# The measurement that it has not made since its power came back: 85 degrees
_POWER_ON_RAW = const(0x0550)
# A byte of the scratchpad: 12 then, 16 when 85 degrees were measured, always 12 in a clone
_COUNT_AT = const(6)
_COUNT_MEASURED = const(16)
# Another byte: how finely a DS18B20 measures, 127 at most; a DS18S20 counts in halves and has 255
_FINENESS_AT = const(4)
_FINENESS_MOST = const(0x7F)
# 125 degrees, the most that it measures. Short of power it says 127.94, with a right checksum
_MOST_RAW = const(125 * 16)

_START, _SENDING, _CONVERTING, _ASK, _READ = range(5)


class Ds18b20:
    def __init__(self, entry):
        self._name = entry["pin"]
        self._address = _address_of(entry["family"], entry["serial"])
        self._command = _CONVERT
        self._pin = machine.Pin(self._name, machine.Pin.OPEN_DRAIN, machine.Pin.PULL_UP)
        self._scratchpad = bytearray(_SCRATCHPAD_BYTES)
        self._step = _START
        self._at = 0
        self._next_ms = ticks_ms()
        self._hundredths = 0
        self._code = frame.BUSY_CODE
        self._trouble = "the first measurement is under way"

    def value(self, part=0):
        # In hundredths of a degree
        if part:
            return None
        if self._code != frame.OK:
            raise Refusal(self._code, self._trouble)
        return self._hundredths

    def handlers(self):
        return {CELSIUS_READ: self._read}

    def tick(self, now_ms):
        if ticks_diff(now_ms, self._next_ms) < 0:
            return
        if self._step in (_START, _ASK):
            self._begin(_CONVERT if self._step == _START else _READ_SCRATCHPAD)
        elif self._step == _SENDING:
            self._send(now_ms)
        elif self._step == _CONVERTING:
            # In a pass of its own: a reset takes a millisecond
            self._step = _ASK
        else:
            self._collect()
            if self._at == _SCRATCHPAD_BYTES:
                self._judge()
                self._rest()

    def close(self):
        data.let_go(self._name, self)

    def _begin(self, command):
        # While another sensor of the line is being read this one waits
        if not data.hold(self._name, self):
            return
        if not _onewire.reset(self._pin):
            self._fail("no DS18B20 answers")
            self._rest()
            return
        self._command = command
        self._at = 0
        self._step = _SENDING

    def _send(self, now_ms):
        # Whom it means, then the command
        address = self._address
        for _ in range(_BYTES_IN_A_PASS):
            if self._at == len(address):
                _onewire.writebyte(self._pin, self._command)
                self._sent(now_ms)
                return
            _onewire.writebyte(self._pin, address[self._at])
            self._at += 1

    def _sent(self, now_ms):
        self._at = 0
        if self._command == _READ_SCRATCHPAD:
            self._step = _READ
            return
        data.let_go(self._name, self)
        self._next_ms = ticks_add(now_ms, _CONVERSION_MS)
        self._step = _CONVERTING

    def _collect(self):
        for _ in range(_BYTES_IN_A_PASS):
            self._scratchpad[self._at] = _onewire.readbyte(self._pin)
            self._at += 1

    def _judge(self):
        if _onewire.crc8(self._scratchpad):
            self._fail("the DS18B20's checksum is wrong")
            return
        if not any(self._scratchpad):
            self._fail("the 1-Wire line is shorted")  # zeros have a right checksum
            return
        if self._scratchpad[_FINENESS_AT] > _FINENESS_MOST:
            self._fail("it is no DS18B20")
            return
        raw = struct.unpack_from("<h", self._scratchpad, 0)[0]
        is_stale = raw == _POWER_ON_RAW and self._scratchpad[_COUNT_AT] != _COUNT_MEASURED
        if is_stale or raw > _MOST_RAW:
            self._fail("the DS18B20 lost or lacks power")
            return
        # Sixteenths to hundredths, rounded
        self._hundredths = (raw * 25 + 2) // 4
        self._code = frame.OK

    def _fail(self, trouble):
        self._code = frame.IO
        self._trouble = trouble

    def _rest(self):
        data.let_go(self._name, self)
        self._step = _START
        self._next_ms = ticks_add(ticks_ms(), _PAUSE_MS)

    def _read(self, _arguments, answer, _outputs):
        struct.pack_into("<h", answer, AT, self.value(0))
        return 2


def _address_of(family, serial):
    # The call that only this one obeys; without a number whoever is there
    if not serial:
        return bytes([_SKIP_ROM])
    rom = bytes([family]) + serial.to_bytes(6, "little")
    return bytes([_MATCH_ROM]) + rom + bytes([_onewire.crc8(rom)])
