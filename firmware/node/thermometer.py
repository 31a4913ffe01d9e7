# The temperature of the MCU itself, from the sensor and the factory calibration of the STM32.

import struct

import pyb
from micropython import const
from node.calls import AT

MCU_TEMPERATURE = 19
# In a subscription: what the board measures without a pin
NO_PIN = const(255)

_RESOLUTION_BITS = const(12)
# Only the internal channels, so that no pin is switched to analog
_INTERNAL_CHANNELS = const(0x70000)


class Thermometer:
    def __init__(self):
        self._adc = pyb.ADCAll(_RESOLUTION_BITS, _INTERNAL_CHANNELS)

    def handlers(self):
        return {MCU_TEMPERATURE: self._read}

    def sample(self, index, part):
        return self.tenths() if index == NO_PIN and not part else None

    def tenths(self):
        # In tenths of a degree Celsius. Reading the reference first corrects for the supply.
        self._adc.read_core_vref()
        return round(self._adc.read_core_temp() * 10)

    def _read(self, _arguments, answer):
        struct.pack_into("<h", answer, AT, self.tenths())
        return 2
