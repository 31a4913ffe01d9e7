# A chip behind I2C with outputs, and a wire of the board that switches all of them off at once.
#
# An interrupt cannot speak on a bus: the dead man's handle uses the wire, and the loop mends the
# rest when it comes around. Whatever goes wrong with the chip ends at the wire too. The part that
# knows the chip has
#   its NAME, as people call it
#   OFF, the level of the wire that switches it off
#   TALKS, whether it can be spoken to meanwhile
#   begin, which tells it everything, by the levels of its channels
#   put and get, for one channel
#   is_well, whether it still knows what it was told

from time import ticks_add, ticks_diff, ticks_ms

import frame
import machine
from micropython import const
from node.calls import Refusal
from node.devices.i2c import open_bus, require_free

CHANNELS = 16

_LOOK_MS = const(250)
_AGAIN_MS = const(1_000)
_TIMED_OUT = const(110)
# Of a kind: "mcp23017" is also what "mcp23017in" begins with
_CHIP_LETTERS = const(8)

# Those in use, by bus and address: each of its channels is an entry
_chips: dict = {}


def chip_of(entry, part_class, wire):
    # The one of that entry, which another may have made
    key = (entry["pin"], entry["sda"], entry["address"])
    chip = _chips.get(key)
    if chip is None:
        chip = _chips[key] = Guarded(entry, part_class, wire)
    elif not chip.is_of(entry, part_class, wire):
        raise ValueError("another entry of that chip says otherwise: compare " + wire)
    bit = 1 << entry["channel"]
    if chip.taken & bit:
        raise ValueError("channel %d of that chip is used twice" % entry["channel"])
    chip.taken |= bit
    # There is more to tell it
    chip.cut()
    return chip


def require_alone(entry, named):
    # Another kind at its address would tell it things: what an INA219 is told turns every output of
    # a PCA9685 around
    chip = entry["kind"][:_CHIP_LETTERS]
    for name, slot in named.items():
        row = slot.row
        is_there = row.get("address") == entry["address"] and row["sda"] == entry["sda"]
        if is_there and row["kind"][:_CHIP_LETTERS] != chip:
            text = "%s: address %d is taken by %s"
            raise ValueError(text % (entry["name"], entry["address"], name))


class Guarded:
    def __init__(self, entry, part_class, wire):
        self.part = part_class(entry)
        # Bit n: an entry has channel n
        self.taken = 0
        # What each channel is to be; 0 is off
        self.levels = [0] * CHANNELS
        self._key = (entry["pin"], entry["sda"], entry["address"])
        self._wire_name = entry[wire]
        self._name = part_class.NAME
        self._address = entry["address"]
        self._wire = machine.Pin(entry[wire], machine.Pin.OUT, value=self.part.OFF)
        self._bus = open_bus(entry)
        self._sda = entry["sda"]
        # Until everything has been told again
        self.is_cut = True
        self._code = frame.BUSY_CODE
        # Empty while all is well
        self._trouble = "not set up"
        self._next_ms = self._passed_ms = ticks_ms()

    def is_of(self, entry, part_class, wire):
        return (
            self._name == part_class.NAME
            and self._wire_name == entry[wire]
            and self.part.is_of(entry)
        )

    def let_go(self, channel):
        self.taken &= ~(1 << channel)
        self.cut()
        if not self.taken:
            del _chips[self._key]
            # From here on the resistor at the wire keeps it off
            self._wire.init(machine.Pin.IN)

    def cut(self):
        # May be called in a hard interrupt
        self.is_cut = True
        self._wire.value(self.part.OFF)

    def off(self, channel, *, in_interrupt):
        self.levels[channel] = 0
        if in_interrupt:
            self.cut()
        elif not self._trouble:
            try:
                self._put(channel, 0)
            except Refusal:
                # The wire has done it; whoever asks is told
                return

    def set(self, channel, level):
        self.require()
        if self.is_cut:
            self._mend()
        self._put(channel, level)
        self.levels[channel] = level
        self._close_wire()

    def get(self, channel):
        self.require()
        if self.is_cut:
            return 0
        try:
            return self._told(self.part.get(self._bus, self._address, channel))
        except OSError as fault:
            raise self._failed(fault)  # noqa: B904  - no chaining on the board

    def require(self):
        if self._code == frame.BUSY_CODE:
            raise Refusal(frame.BUSY_CODE, "not set up yet: ask again in a moment")
        if self._trouble:
            raise Refusal(frame.IO, self._trouble)

    def tick(self, now_ms):
        # Once in a pass, whichever of its channels asks first
        if now_ms == self._passed_ms:
            return
        self._passed_ms = now_ms
        is_due = ticks_diff(now_ms, self._next_ms) >= 0
        if not is_due and (self._trouble or not self.is_cut):
            return
        try:
            if self.is_cut:
                self._mend()
            else:
                self._look()
        except Refusal:
            # The wire is cut, and whoever asks is told
            return
        self._next_ms = ticks_add(now_ms, _LOOK_MS)

    def _look(self):
        try:
            is_well = self._told(self.part.is_well(self._bus, self._address))
        except OSError as fault:
            raise self._failed(fault)  # noqa: B904  - no chaining on the board
        if not is_well:
            self._fail("the %s has lost its settings" % self._name)
            self.require()

    def _mend(self):
        self.is_cut = False
        if not self.part.TALKS:
            self._close_wire()
        try:
            self.part.begin(self._bus, self._address, self.levels)
            is_well = self._told(self.part.is_well(self._bus, self._address))
        except OSError as fault:
            raise self._failed(fault)  # noqa: B904  - no chaining on the board
        if not is_well:
            self._fail("the %s does not keep what it is told" % self._name)
            self.require()
        self._code = frame.OK
        self._trouble = ""
        self._close_wire()

    def _close_wire(self):
        self._wire.value(1 - self.part.OFF)
        if self.is_cut:
            # An interrupt came between: its word counts
            self._wire.value(self.part.OFF)

    def _put(self, channel, level):
        try:
            self.part.put(self._bus, self._address, channel, level)
            kept = self._told(self.part.get(self._bus, self._address, channel))
        except OSError as fault:
            raise self._failed(fault)  # noqa: B904  - no chaining on the board
        if kept != level:
            self._fail("the %s does not keep what it is told" % self._name)
            self.require()

    def _told(self, said):
        # What the chip said, if it was the chip: a line that is held is an off that was never told
        require_free(self._sda)
        return said

    def _failed(self, fault):
        if self.is_cut and not self.part.TALKS:
            # An interrupt took the wire in the middle of it: nothing is wrong with the chip
            return Refusal(frame.BUSY_CODE, "being set up again: ask in a moment")
        if fault.errno == _TIMED_OUT:
            self._fail("something holds the bus")
        else:
            self._fail("no %s answers at address %d" % (self._name, self._address))
        return Refusal(frame.IO, self._trouble)

    def _fail(self, trouble):
        # What was on stays off until somebody asks for it again
        self.cut()
        for channel in range(CHANNELS):
            self.levels[channel] = 0
        self._code = frame.IO
        self._trouble = trouble
        self._next_ms = ticks_add(ticks_ms(), _AGAIN_MS)
