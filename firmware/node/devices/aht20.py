# An AHT20 (also AHT10 modules that are an AHT20, and the AHT21): temperature and humidity over I2C.
#
# Commands, status bits and formulas are those of its data sheet (Aosong, AHT20, 5.3, 5.4, 6).

import struct

import frame
from micropython import const
from node.calls import AT, Refusal
from node.devices.sensirion import crc8
from node.devices.stepwise import Stepwise

CLIMATE_READ = 26

_STATUS = const(0x71)
_SET_UP = b"\xbe\x08\x00"
_MEASURE = b"\xac\x33\x00"
# At least 80 ms
_MEASURE_MS = const(90)
_ANSWER_BYTES = const(7)
# In the first byte of an answer
_BUSY = const(0x80)
_CALIBRATED = const(0x08)


class Aht20:
    def __init__(self, entry):
        self._measuring = Stepwise(entry, self, "AHT20")
        self.value = self._measuring.value
        self.tick = self._measuring.tick

    def begin(self, bus, address):
        if not bus.readfrom_mem(address, _STATUS, 1)[0] & _CALIBRATED:
            # After its power has come; measured the next time
            bus.writeto(address, _SET_UP)
        bus.writeto(address, _MEASURE)
        return _MEASURE_MS

    def finish(self, bus, address):
        data = bytearray(_ANSWER_BYTES)
        bus.readfrom_into(address, data)
        if data[0] & _BUSY:
            return None
        if not data[0] & _CALIBRATED:
            raise Refusal(frame.IO, "the AHT20 is not calibrated")
        if crc8(data[:6]) != data[6]:
            raise Refusal(frame.IO, "the AHT20's checksum is wrong")
        humidity = data[1] << 12 | data[2] << 4 | data[3] >> 4
        temperature = (data[3] & 0x0F) << 16 | data[4] << 8 | data[5]
        # 20 bits are 200 degrees from -50 on, or 100 percent
        return (temperature * 625 + 0x4000 >> 15) - 5000, humidity * 625 + 0x8000 >> 16

    def handlers(self):
        return {CLIMATE_READ: self._read}

    def _read(self, _arguments, answer, _outputs):
        # No pressure: the result ends before it
        struct.pack_into("<hH", answer, AT, *self._measuring.values())
        return 4
