# A PCA9685: asleep after power, each channel off until it is told, all of them off while OE is high
# or floats, as its resistor has it.

import world

_CHANNELS = 16
_FIRST = 6
_ALL = 0xFA
_PRESCALE = 0xFE
_SLEEP = 0x10
_AUTO = 0x20


class Thing:
    changeable = ("absent", "loses_power", "is_worn")

    def __init__(self, name, pin, oe, address=0x40):
        self.name = name
        self.pin = pin
        self.address = address
        self.quantities = ()
        self.absent = False
        # A register that takes nothing any more
        self.is_worn = False
        self._oe = oe
        self._shown = None
        self._switch_on()

    @property
    def loses_power(self):
        return False

    @loses_power.setter
    def loses_power(self, _value):
        self._switch_on()

    def tick(self, now_ms):
        shown = self._duties()
        if shown != self._shown:
            self._shown = shown
            world.record(
                {"event": "channels", "name": self.name, "duties": shown, "hz": self._hz()}
            )

    def write(self, data):
        if not data:
            return
        self._at = data[0]
        for byte in data[1:]:
            self._take(byte)

    def read(self, count):
        found = bytes(self._registers[self._at : self._at + count])
        if not self._registers[0] & _AUTO:
            found = found[:1] * count
        return found

    def _switch_on(self):
        self._at = 0
        self._registers = bytearray(256)
        self._registers[0] = 0x11
        self._registers[1] = 0x04
        self._registers[_PRESCALE] = 0x1E
        for channel in range(_CHANNELS):
            self._registers[_FIRST + 4 * channel + 3] = 0x10

    def _take(self, byte):
        at = self._at
        if _ALL <= at < _ALL + 4:
            for channel in range(_CHANNELS):
                self._registers[_FIRST + 4 * channel + at - _ALL] = byte
        elif at == _PRESCALE and not self._registers[0] & _SLEEP:
            # Ignored while it works
            pass
        elif not (self.is_worn and at >= _FIRST):
            self._registers[at] = byte
        if self._registers[0] & _AUTO:
            self._at = (at + 1) % 256

    def _hz(self):
        return round(25_000_000 / 4096 / (self._registers[_PRESCALE] + 1))

    def _duties(self):
        is_off = self.absent or world.driven(self._oe) != 0 or self._registers[0] & _SLEEP
        return [0 if is_off else self._duty(channel) for channel in range(_CHANNELS)]

    def _duty(self, channel):
        at = _FIRST + 4 * channel
        on_low, on_high, off_low, off_high = self._registers[at : at + 4]
        if off_high & 0x10:
            return 0
        if on_high & 0x10:
            return 4096
        return (off_low | off_high << 8) - (on_low | on_high << 8)
