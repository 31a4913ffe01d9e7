# The supply voltage of the MCU, from its internal reference and the factory calibration.

import struct

import pyb
from micropython import const
from node.calls import AT

SUPPLY_READ = 34
# As the thermometer's: the internal channels only
_RESOLUTION_BITS = const(12)
_INTERNAL_CHANNELS = const(0x70000)


class Supply:
    def __init__(self):
        self._adc = pyb.ADCAll(_RESOLUTION_BITS, _INTERNAL_CHANNELS)

    def handlers(self):
        return {SUPPLY_READ: self._read}

    def millivolts(self):
        return round(self._adc.read_vref() * 1000)

    def _read(self, _arguments, answer):
        struct.pack_into("<H", answer, AT, self.millivolts())
        return 2
