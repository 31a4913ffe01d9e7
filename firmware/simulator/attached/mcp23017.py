# An MCP23017: every pin an input after power and while RESET is low. A resistor to ground at each
# output, and "pins" is what somebody else drives its inputs to.

import world

_DIRECTION = 0x00
_POLARITY = 0x02
_PULL_UP = 0x0C
_LEVEL = 0x12
_LATCH = 0x14
_REGISTERS = 0x16
_NOT_ACKNOWLEDGED = 19


class Thing:
    changeable = ("absent", "holds_data", "loses_power", "pins", "shorted")

    def __init__(self, name, pin, reset, address=0x20):
        self.name = name
        self.pin = pin
        self.quantities = ()
        self.absent = False
        # Interrupted in the middle of a byte, it keeps the data line low
        self.holds_data = False
        # Levels from outside by number, as JSON has them: "9"
        self.pins = {}
        # Outputs that stay low whatever drives them
        self.shorted = []
        self._address = address
        self._reset = reset
        self._shown = None
        self._switch_on()

    @property
    def address(self):
        # While it is reset it hears nothing
        return self._address if world.driven(self._reset) == 1 else None

    @property
    def loses_power(self):
        return False

    @loses_power.setter
    def loses_power(self, _value):
        self._switch_on()

    def tick(self, now_ms):
        if world.driven(self._reset) != 1:
            self._switch_on()
        driven = self._word(_LATCH) & ~self._word(_DIRECTION) & 0xFFFF
        if self.absent:
            driven = 0
        if driven != self._shown:
            self._shown = driven
            world.record({"event": "expander", "name": self.name, "high": driven})

    def write(self, data):
        if not data:
            return
        self._at = data[0]
        for byte in data[1:]:
            if self._at >= _REGISTERS:
                raise OSError(_NOT_ACKNOWLEDGED)
            # A write to the levels is one to the latch
            to = self._at + 2 if self._at in (_LEVEL, _LEVEL + 1) else self._at
            self._registers[to] = byte
            self._at += 1

    def read(self, count):
        found = bytearray(count)
        for place in range(count):
            at = self._at + place
            if at in (_LEVEL, _LEVEL + 1):
                found[place] = self._levels() >> 8 * (at - _LEVEL) & 0xFF
            else:
                found[place] = self._registers[at]
        return bytes(found)

    def _switch_on(self):
        self._at = 0
        self._registers = bytearray(_REGISTERS)
        self._registers[_DIRECTION] = self._registers[_DIRECTION + 1] = 0xFF

    def _word(self, at):
        return self._registers[at] | self._registers[at + 1] << 8

    def _levels(self):
        inputs = self._word(_DIRECTION)
        found = self._word(_LATCH) & ~inputs
        for number in range(16):
            bit = 1 << number
            if inputs & bit:
                pulled = 1 if self._word(_PULL_UP) & bit else 0
                found |= bit if self.pins.get(str(number), pulled) else 0
            elif number in self.shorted:
                found &= ~bit
        return (found ^ self._word(_POLARITY)) & 0xFFFF
