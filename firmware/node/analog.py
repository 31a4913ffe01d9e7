# Analog pins: measuring voltages.

import struct

import frame
from node.calls import AT, Refusal, need

ADC_READ = 18


class Analog:
    def __init__(self, pins):
        self._pins = pins

    def handlers(self):
        return {ADC_READ: self._read}

    def sample(self, index, part):
        if part or not self._pins.can_measure(index):
            return None
        return self._pins.millivolts(index)

    def _read(self, arguments, answer):
        need(arguments, 1)
        if not self._pins.can_measure(arguments[0]):
            raise Refusal(frame.BAD_PIN, "that pin cannot measure")
        struct.pack_into("<H", answer, AT, self._pins.millivolts(arguments[0]))
        return 2
