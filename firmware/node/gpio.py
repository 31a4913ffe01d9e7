# Pins with no device behind them: switching outputs, reading inputs, measuring voltages.

import struct
from time import ticks_ms

import frame
from node.calls import AT, Refusal, need

GPIO_WRITE = 16
GPIO_READ = 17
ADC_READ = 18


class Gpio:
    def __init__(self, pins):
        self._pins = pins
        self._outputs = pins.outputs

    def handlers(self):
        return {GPIO_WRITE: self._write, GPIO_READ: self._read, ADC_READ: self._measure}

    def sample(self, index, part):
        if part:
            return None
        if self._pins.can_read(index):
            return self._pins.read(index)
        return self._pins.millivolts(index) if self._pins.can_measure(index) else None

    def _write(self, arguments, answer):
        need(arguments, 2)
        index = arguments[0]
        value = arguments[1]
        if not self._pins.can_switch(index):
            raise Refusal(frame.BAD_PIN, "that pin is not an output")
        if value > 1:
            raise Refusal(frame.OUT_OF_RANGE, "a pin is off or on")
        answer[AT] = self._outputs.write(index, value, ticks_ms())
        return 1

    def _read(self, arguments, answer):
        need(arguments, 1)
        if not self._pins.can_read(arguments[0]):
            raise Refusal(frame.BAD_PIN, "that pin cannot be read")
        answer[AT] = self._pins.read(arguments[0])
        return 1

    def _measure(self, arguments, answer):
        need(arguments, 1)
        if not self._pins.can_measure(arguments[0]):
            raise Refusal(frame.BAD_PIN, "that pin cannot measure")
        struct.pack_into("<H", answer, AT, self._pins.millivolts(arguments[0]))
        return 2
