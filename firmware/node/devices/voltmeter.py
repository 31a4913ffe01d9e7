# A voltage at an analog pin, filtered and calibrated.
#
# Every pass of the loop takes a sample. The median leaves out what an interference did to some of
# them; the mean is finer where there is none. What is told is the sample times the gain, and the
# offset added.

import struct
from array import array

import board
import frame
import machine
from micropython import const
from node.calls import AT, Refusal

VOLTAGE_READ = 37

_U16_FULL = const(65_535)
# A converter of 12 bits has nothing between this and all of them
_BEYOND = const(65_519)
_MILLION = const(1_000_000)


class Voltmeter:
    def __init__(self, entry):
        self._offset_uv = entry["offset_uv"]
        self._gain_ppm = entry["gain_ppm"]
        self._is_mean = entry["mean"]
        self._samples = array("H", bytearray(2 * entry["samples"]))
        self._count = 0
        self._at = 0
        self._adc = machine.ADC(machine.Pin(entry["pin"]))

    def value(self, part=0):
        # In microvolts
        if part:
            return None
        if not self._count:
            raise Refusal(frame.BUSY_CODE, "the first measurement is under way")
        raw = self._filtered()
        if raw > _BEYOND:
            raise Refusal(frame.IO, "the voltage is beyond what the pin measures")
        measured_uv = raw * board.SUPPLY_MV * 1000 // _U16_FULL
        return measured_uv * self._gain_ppm // _MILLION + self._offset_uv

    def handlers(self):
        return {VOLTAGE_READ: self._read}

    def tick(self, _now_ms):
        samples = self._samples
        samples[self._at] = self._adc.read_u16()
        self._at = (self._at + 1) % len(samples)
        if self._count < len(samples):
            self._count += 1

    def _filtered(self):
        taken = self._samples[: self._count]
        if self._is_mean:
            return sum(taken) // self._count
        return sorted(taken)[self._count // 2]

    def _read(self, _arguments, answer, _outputs):
        struct.pack_into("<i", answer, AT, self.value(0))
        return 4
