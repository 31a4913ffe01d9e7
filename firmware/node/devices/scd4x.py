# An SCD40 or SCD41: carbon dioxide, temperature and humidity over I2C.
#
# It measures by itself every 5 s once it is told to. Commands and formulas are those of its data
# sheet (Sensirion, SCD4x, 3.4 to 3.9); while it measures it knows no others than these.

import struct

import frame
from micropython import const
from node.calls import AT, Refusal
from node.devices.sensirion import climate, words
from node.devices.stepwise import Stepwise

AIR_READ = 38

_NAME = "SCD4x"
_START = b"\x21\xb1"
_IS_READY = b"\xe4\xb8"
_READ = b"\xec\x05"
# The low bits of what it answers to the second: none of them is nothing new
_READY = const(0x7FF)
# It executes a command in 1 ms; a step waits longer
_ANSWER_MS = const(5)
# Every 5 s there is something new, by a clock of its own
_LOOK_MS = const(500)
# Without anything new for so long it has lost its power, or never began
_SILENCE_LOOKS = const(24)


class Scd4x:
    def __init__(self, entry):
        self._measuring = Stepwise(entry, self, _NAME, _LOOK_MS)
        self.value = self._measuring.value
        self.tick = self._measuring.tick
        # Looks since the last measurement; at first it is told to begin
        self._looks = _SILENCE_LOOKS
        self._is_asked = False

    def begin(self, bus, address):
        self._is_asked = False
        if self._looks >= _SILENCE_LOOKS or self._measuring.code == frame.IO:
            self._looks = 0
            self._start(bus, address)
        bus.writeto(address, _IS_READY)
        return _ANSWER_MS

    def finish(self, bus, address):
        if self._is_asked:
            self._looks = 0
            found = _words(bus, address, 9)
            if not found[0]:
                raise Refusal(frame.IO, "the SCD4x measured nothing")
            temperature, humidity = climate(found[1], found[2])
            return found[0], temperature, humidity
        if _words(bus, address, 3)[0] & _READY:
            self._is_asked = True
            bus.writeto(address, _READ)
            return None
        self._looks += 1
        return self._last()

    def handlers(self):
        return {AIR_READ: self._read}

    def _last(self):
        # Nothing new: the last one counts, until it has been silent for too long
        if self._looks >= _SILENCE_LOOKS:
            raise Refusal(frame.IO, "the SCD4x measures nothing")
        return self._measuring.values()

    def _start(self, bus, address):
        try:
            bus.writeto(address, _START)
        except OSError:
            # It measures already, and refuses to begin: its answers will tell
            return

    def _read(self, _arguments, answer, _outputs):
        struct.pack_into("<HhH", answer, AT, *self._measuring.values())
        return 6


def _words(bus, address, count):
    data = bytearray(count)
    bus.readfrom_into(address, data)
    found = words(data)
    if found is None:
        raise Refusal(frame.IO, "the SCD4x's checksum is wrong")
    return found
