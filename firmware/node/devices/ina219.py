# An INA219: voltage, current and power of a supply, over I2C.
#
# It measures by itself, 128 samples of 12 bits a value, which takes 69 ms each; reading takes 1 ms.
# The current is that of the shunt's voltage: its calibration register rounds, and is not used.
# Registers and steps are those of its data sheet (TI SBOS448, 8.6).

import struct

import frame
from micropython import const
from node.calls import AT, Refusal
from node.devices.i2c import open_bus

POWER_READ = 36

_AT_SETTINGS = const(0x00)
_AT_SHUNT = const(0x01)
_AT_VOLTAGE = const(0x02)
# 32 V, 320 mV at the shunt, 128 samples of both, again and again
_SETTINGS = const(0x3FFF)
# Beyond 320 mV the shunt's register stays at this, and is no measurement
_SHUNT_MOST = const(32_000)
# In the register of the voltage
_READY = const(2)
_OVERFLOW = const(1)
# A step of the voltage, and one of the shunt's
_STEP_MV = const(4)
_SHUNT_STEP_UV = const(10)


class Ina219:
    def __init__(self, entry):
        self._address = entry["address"]
        self._bus = open_bus(entry)
        self._shunt_mohm = entry["shunt_mohm"]

    def value(self, part=0):
        # Millivolts, milliamperes, milliwatts
        return self._measured()[part] if part < 3 else None

    def handlers(self):
        return {POWER_READ: self._read}

    def _read(self, _arguments, answer, _outputs):
        struct.pack_into("<Hii", answer, AT, *self._measured())
        return 10

    def _measured(self):
        try:
            if self._register(_AT_SETTINGS) != _SETTINGS:
                # New, or its power was away
                settings = bytes([_SETTINGS >> 8, _SETTINGS & 0xFF])
                self._bus.writeto_mem(self._address, _AT_SETTINGS, settings)
            voltage = self._register(_AT_VOLTAGE)
            shunt = self._register(_AT_SHUNT)
        except OSError:
            text = "no INA219 answers at address %d" % self._address
            raise Refusal(frame.IO, text)  # noqa: B904  - no chaining on the board
        if shunt & 0x8000:
            shunt -= 0x10000
        if voltage & _OVERFLOW or abs(shunt) >= _SHUNT_MOST:
            raise Refusal(frame.IO, "the INA219 cannot calculate: too much current")
        if not voltage & _READY:
            raise Refusal(frame.BUSY_CODE, "the first measurement is under way")
        millivolts = (voltage >> 3) * _STEP_MV
        milliamperes = _divided(shunt * _SHUNT_STEP_UV, self._shunt_mohm)
        return millivolts, milliamperes, _divided(millivolts * milliamperes, 1000)

    def _register(self, number):
        data = self._bus.readfrom_mem(self._address, number, 2)
        return data[0] << 8 | data[1]


def _divided(value, by):
    # Rounded to the nearest, alike on both sides of zero
    half = by // 2
    return (value + half) // by if value >= 0 else -((half - value) // by)
