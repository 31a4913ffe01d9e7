# A channel of a PCA9685: 16 outputs with pulses of 12 bits, for servos and dimmed lamps, over I2C.
#
# To outputs.py it looks like a pin whose level is the duty in hundredths of a percent. Its OE input
# is a wire of the board, which takes all channels down. Registers are those of its data sheet (NXP,
# 7.3).

import struct
from time import sleep_us, ticks_ms

import frame
import machine
from micropython import const
from node.calls import AT, Refusal, need
from node.devices.guarded import chip_of, require_alone

CHANNEL_WRITE = 49

_FULL = const(10_000)
_STEPS = const(4_096)
_CLOCK_HZ = const(25_000_000)
_MODE = const(0x00)
_DRIVE = const(0x01)
_FIRST = const(0x06)
_ALL_OFF = const(0xFD)
_PRESCALE = const(0xFE)
# One register after the other, asleep or not
_ASLEEP = b"\x30"
_AWAKE = b"\x20"
# Both transistors, not inverted, low while OE is high
_BOTH = b"\x04"
# In the high byte of on or of off: the whole time
_WHOLE = const(0x10)
# Its oscillator takes this long to start
_WAKE_US = const(500)


class _Chip:
    NAME = "PCA9685"
    OFF = 1
    TALKS = True

    def __init__(self, entry):
        self._hz = entry["pulse_hz"]
        self._prescale = bytes([(_CLOCK_HZ + _STEPS * self._hz // 2) // (_STEPS * self._hz) - 1])

    def is_of(self, entry):
        return entry["pulse_hz"] == self._hz

    def begin(self, bus, address, levels):
        # The frequency only changes while it is asleep
        bus.writeto_mem(address, _MODE, _ASLEEP)
        bus.writeto_mem(address, _PRESCALE, self._prescale)
        bus.writeto_mem(address, _DRIVE, _BOTH)
        bus.writeto_mem(address, _ALL_OFF, bytes([_WHOLE]))
        bus.writeto_mem(address, _MODE, _AWAKE)
        sleep_us(_WAKE_US)
        for channel in range(len(levels)):
            if levels[channel]:
                self.put(bus, address, channel, levels[channel])

    def put(self, bus, address, channel, level):
        steps = level * _STEPS // _FULL
        if not steps:
            on, off = 0, _WHOLE << 8
        elif steps == _STEPS:
            on, off = _WHOLE << 8, 0
        else:
            on, off = 0, steps
        bus.writeto_mem(address, _FIRST + 4 * channel, struct.pack("<HH", on, off))

    def get(self, bus, address, channel):
        found = bus.readfrom_mem(address, _FIRST + 4 * channel, 4)
        on, off = struct.unpack("<HH", found)
        if off >> 8 & _WHOLE:
            return 0
        if on >> 8 & _WHOLE:
            return _FULL
        # The level of which these steps were made, or one that makes the same
        return (off * _FULL + _STEPS - 1) // _STEPS

    def is_well(self, bus, address):
        mode = bus.readfrom_mem(address, _MODE, 1)
        return mode == _AWAKE and bus.readfrom_mem(address, _PRESCALE, 1) == self._prescale


class Pca9685:
    OUT = machine.Pin.OUT
    safe = 0

    def __init__(self, entry):
        self._least = entry["least_duty"]
        self._most = entry["most_duty"]
        if self._least > self._most:
            raise ValueError("most_duty is not less than least_duty")
        self._entry = entry
        self._channel = entry["channel"]
        # Found with the first write: it knows whether an interrupt speaks
        self._output = None
        self._chip = chip_of(entry, _Chip, "oe")
        self.tick = self._chip.tick

    def init(self, _mode, value):
        self.value(value)

    def value(self, level=None):
        # May be called in a hard interrupt to switch it off
        if level is None:
            return self._chip.get(self._channel)
        if level:
            self._chip.set(self._channel, _told(level))
        else:
            is_tripped = self._output is not None and self._output.tripped
            self._chip.off(self._channel, in_interrupt=is_tripped)
        return None

    def close(self):
        self._chip.let_go(self._channel)

    def connect(self, named):
        # Called with every configuration, when all entries are made
        require_alone(self._entry, named)

    def handlers(self):
        return {CHANNEL_WRITE: self._write}

    def _write(self, arguments, answer, outputs):
        need(arguments, 3)
        index, duty = struct.unpack_from("<BH", arguments, 0)
        if duty and not self._least <= duty <= self._most:
            raise Refusal(frame.OUT_OF_RANGE, "least_duty and most_duty of this channel forbid it")
        self._output = outputs.find(index)
        if duty:
            self._chip.require()
        struct.pack_into("<H", answer, AT, outputs.write(index, duty, ticks_ms()))
        return 2


def _told(level):
    # As it will be read back: it has 4096 steps
    steps = max(1, level * _STEPS // _FULL)
    return (steps * _FULL + _STEPS - 1) // _STEPS
