# A pin of an MCP23017: 16 more pins over I2C, each an output or an input.
#
# To outputs.py an output looks like any pin. The chip's RESET input is a wire of the board: low, it
# makes an input of every pin, and resistors decide. Registers are those of its data sheet
# (Microchip, 3.5).

import struct
from time import sleep_us, ticks_ms

import frame
import machine
from micropython import const
from node.calls import AT, Refusal, need
from node.devices.guarded import chip_of, require_alone

EXPANDER_WRITE = 50

_DIRECTION = const(0x00)
_PULL_UP = const(0x0C)
_LEVEL = const(0x12)
_LATCH = const(0x14)
_RESET_US = const(10)


class Mcp23017Chip:
    NAME = "MCP23017"
    OFF = 0
    TALKS = False

    def __init__(self, _entry):
        # Bit n: pin n is an output, is on while it is low, is pulled up
        self.outputs = 0
        self.inverted = 0
        self.pulled_up = 0

    def is_of(self, _entry):
        return True

    def begin(self, bus, address, levels):
        sleep_us(_RESET_US)
        # What is an output has its level before it drives
        latch = self.inverted
        for channel in range(len(levels)):
            if levels[channel]:
                latch ^= 1 << channel
        _put(bus, address, _LATCH, latch)
        _put(bus, address, _PULL_UP, self.pulled_up)
        _put(bus, address, _DIRECTION, ~self.outputs & 0xFFFF)

    def put(self, bus, address, channel, level):
        bit = 1 << channel
        latch = _get(bus, address, _LATCH) & ~bit
        if level != (self.inverted >> channel & 1):
            latch |= bit
        _put(bus, address, _LATCH, latch)

    def get(self, bus, address, channel):
        # What is at the pin, not what was meant
        return (_get(bus, address, _LEVEL) ^ self.inverted) >> channel & 1

    def is_well(self, bus, address):
        return _get(bus, address, _DIRECTION) == ~self.outputs & 0xFFFF


class Mcp23017:
    OUT = machine.Pin.OUT
    safe = 0
    # What a rule of the board may set it to
    highest = 1

    def __init__(self, entry):
        self._entry = entry
        self._channel = entry["channel"]
        self._output = None
        self._chip = chip_of(entry, Mcp23017Chip, "reset")
        bit = 1 << self._channel
        part = self._chip.part
        part.outputs |= bit
        part.inverted &= ~bit
        if entry.get("active_low", False):
            part.inverted |= bit
        self.tick = self._chip.tick

    def init(self, _mode, value):
        self.value(value)

    def value(self, level=None):
        # May be called in a hard interrupt to switch it off
        if level is None:
            return self._chip.get(self._channel)
        if level:
            self._chip.set(self._channel, 1)
        else:
            is_tripped = self._output is None or self._output.tripped
            self._chip.off(self._channel, in_interrupt=is_tripped)
        return None

    def close(self):
        self._chip.part.outputs &= ~(1 << self._channel)
        self._chip.let_go(self._channel)

    def connect(self, named):
        # Called with every configuration, when all entries are made
        require_alone(self._entry, named)

    def handlers(self):
        return {EXPANDER_WRITE: self._write}

    def _write(self, arguments, answer, outputs):
        need(arguments, 2)
        index, value = arguments[0], arguments[1]
        if value > 1:
            raise Refusal(frame.OUT_OF_RANGE, "a pin is off or on")
        self._output = outputs.find(index)
        if value:
            self._chip.require()
        answer[AT] = outputs.write(index, value, ticks_ms())
        return 1


def _put(bus, address, register, word):
    bus.writeto_mem(address, register, struct.pack("<H", word))


def _get(bus, address, register):
    return struct.unpack("<H", bus.readfrom_mem(address, register, 2))[0]
