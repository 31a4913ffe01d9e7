# An ADS1115: one of the four inputs of a converter with 16 bits, over I2C.
#
# An entry is an input, and the inputs of a chip take turns: whoever asks has the converter for one
# conversion. At 860 a second that is 1.2 ms, so that it needs no steps. Registers are those of its
# data sheet (TI SBAS444, 9.6).

import struct
from time import sleep_us, ticks_diff, ticks_ms

import frame
from micropython import const
from node.calls import AT, Refusal
from node.devices.i2c import open_bus

VOLTAGE_READ = 37

_AT_RESULT = const(0x00)
_AT_SETTINGS = const(0x01)
# Begin, one conversion, 860 a second, no comparator
_ONCE = const(0x81E3)
# Set in the settings that are read once a conversion is done
_DONE = const(0x80)
# Against ground, by the input
_INPUT_FROM = const(4)
# At most 1.3 ms: its clock may be 10 % slow
_CONVERSION_US = const(1_300)
_TRIES = const(3)
_TRY_US = const(200)
# Events ask in every pass of the loop
_FRESH_MS = const(20)
# By the setting: the microvolts of 32768 steps
_FULL_UV = (6_144_000, 4_096_000, 2_048_000, 1_024_000, 512_000, 256_000)
_STEPS = const(32_768)
_HIGHEST = const(32_767)


class Ads1115:
    def __init__(self, entry):
        self._address = entry["address"]
        self._bus = open_bus(entry)
        self._range = _range_of(entry["full_scale_mv"] * 1000)
        settings = _ONCE | (_INPUT_FROM + entry["channel"]) << 12 | self._range << 9
        self._settings = bytes([settings >> 8, settings & 0xFF])
        self._microvolts = None
        self._measured_ms = ticks_ms()

    def value(self, part=0):
        # In microvolts
        if part:
            return None
        now_ms = ticks_ms()
        is_fresh = 0 <= ticks_diff(now_ms, self._measured_ms) < _FRESH_MS
        if self._microvolts is None or not is_fresh:
            self._microvolts = None
            self._microvolts = self._measure()
            self._measured_ms = now_ms
        return self._microvolts

    def handlers(self):
        return {VOLTAGE_READ: self._read}

    def _read(self, _arguments, answer, _outputs):
        struct.pack_into("<i", answer, AT, self.value(0))
        return 4

    def _measure(self):
        try:
            self._bus.writeto_mem(self._address, _AT_SETTINGS, self._settings)
            sleep_us(_CONVERSION_US)
            self._await_end()
            data = self._bus.readfrom_mem(self._address, _AT_RESULT, 2)
        except OSError:
            text = "no ADS1115 answers at address %d" % self._address
            raise Refusal(frame.IO, text)  # noqa: B904  - no chaining on the board
        raw = struct.unpack(">h", data)[0]
        if raw in (_HIGHEST, -_STEPS):
            raise Refusal(frame.IO, "the voltage is beyond full_scale_mv")
        return raw * (_FULL_UV[self._range] >> 8) // (_STEPS >> 8)

    def _await_end(self):
        for _ in range(_TRIES):
            if self._bus.readfrom_mem(self._address, _AT_SETTINGS, 1)[0] & _DONE:
                return
            sleep_us(_TRY_US)
        raise Refusal(frame.IO, "the ADS1115 does not finish")


def _range_of(wanted_uv):
    # The narrowest that holds it
    for at in range(len(_FULL_UV) - 1, -1, -1):
        if _FULL_UV[at] >= wanted_uv:
            return at
    return 0
