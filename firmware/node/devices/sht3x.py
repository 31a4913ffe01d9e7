# An SHT30, SHT31 or SHT35: temperature and humidity over I2C.
#
# One measurement after the other with the highest repeatability and without holding the clock;
# commands, times and formulas are those of its data sheet (Sensirion, SHT3x-DIS, 2.2, 4.3, 4.13).

import struct

import frame
from micropython import const
from node.calls import AT, Refusal
from node.devices.sensirion import climate, words
from node.devices.stepwise import Stepwise

CLIMATE_READ = 26

_NAME = "SHT3x"
_MEASURE = b"\x24\x00"
# At most 15.5 ms
_MEASURE_MS = const(20)
_ANSWER_BYTES = const(6)


class Sht3x:
    def __init__(self, entry):
        self._measuring = Stepwise(entry, self, _NAME)
        self.value = self._measuring.value
        self.tick = self._measuring.tick

    def begin(self, bus, address):
        bus.writeto(address, _MEASURE)
        return _MEASURE_MS

    def finish(self, bus, address):
        data = bytearray(_ANSWER_BYTES)
        bus.readfrom_into(address, data)
        found = words(data)
        if found is None:
            raise Refusal(frame.IO, "the SHT3x's checksum is wrong")
        return climate(*found)

    def handlers(self):
        return {CLIMATE_READ: self._read}

    def _read(self, _arguments, answer, _outputs):
        # No pressure: the result ends before it
        struct.pack_into("<hH", answer, AT, *self._measuring.values())
        return 4
