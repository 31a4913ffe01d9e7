# What the MCU measures of itself, with the factory calibration of the STM32: its temperature, and
# its supply voltage from the internal reference.

import struct

import pyb
from micropython import const
from node.calls import AT

MCU_TEMPERATURE = 19
SUPPLY_READ = 34
# In a subscription: what the board measures without a pin
NO_PIN = const(255)

_RESOLUTION_BITS = const(12)
# Only the internal channels, so that no pin is switched to analog
_INTERNAL_CHANNELS = const(0x70000)


class OwnSensors:
    def __init__(self):
        self._adc = pyb.ADCAll(_RESOLUTION_BITS, _INTERNAL_CHANNELS)

    def handlers(self):
        return {MCU_TEMPERATURE: self._read_temperature, SUPPLY_READ: self._read_supply}

    def sample(self, index, part):
        return self._tenths() if index == NO_PIN and not part else None

    def _tenths(self):
        # In tenths of a degree Celsius. Reading the reference first corrects for the supply.
        self._adc.read_core_vref()
        return round(self._adc.read_core_temp() * 10)

    def _read_temperature(self, _arguments, answer):
        struct.pack_into("<h", answer, AT, self._tenths())
        return 2

    def _read_supply(self, _arguments, answer):
        struct.pack_into("<H", answer, AT, round(self._adc.read_vref() * 1000))
        return 2
