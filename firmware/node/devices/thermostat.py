# A thermostat: a relay that the board switches by itself, by a thermometer of the same board.
#
# To outputs.py it looks like a pin whose level is the target in tenths of a degree, and 0 is off:
# who holds it holds the regulation, and lease, limits, interlocks and stops end it as those of any
# output. The relay is off whenever there is no target, or no temperature.

import struct
from time import ticks_add, ticks_diff, ticks_ms

import frame
import machine
from micropython import const
from node.calls import AT, Refusal, need

THERMOSTAT_WRITE = 40
THERMOSTAT_READ = 41

_OFF = const(0)
# Methods of what measures a temperature first, in hundredths of a degree
_THERMOMETERS = (25, 26)
# Heat is slow, and a thermometer on a bus is not to be asked in every pass
_LOOK_MS = const(250)


class Thermostat:
    OUT = machine.Pin.OUT
    safe = _OFF

    def __init__(self, entry, law=None):
        # Another law than that of two points: must_be_on(missing), in hundredths of a degree
        self._law = law
        self._name = entry["name"]
        self._source = entry["sensor"]
        # What a rule of the board may set it to
        self.highest = entry["highest_c"] * 10
        self._cools = entry["cools"]
        self._band = entry.get("hysteresis_tenths", 0) * 10
        self._rest_ms = entry["rest_s"] * 1000
        self._on = 0 if entry.get("active_low", False) else 1
        self._target = _OFF
        self._thermometer = None
        self._next_ms = ticks_ms()
        # Nobody knows how long it was off before the start
        self._off_ms = self._next_ms
        self._is_resting = self._rest_ms > 0
        self._pin = machine.Pin(entry["pin"])
        self._pin.init(machine.Pin.OUT, value=1 - self._on)

    def connect(self, named):
        # Called with every configuration, when all entries are made
        slot = named.get(self._source)
        handlers = slot.handlers if slot is not None else None
        if not handlers or not any(number in handlers for number in _THERMOMETERS):
            raise ValueError("%s: sensor names no thermometer" % self._name)
        self._thermometer = slot.device

    def init(self, _mode, value):
        self.value(value)

    def value(self, level=None):
        # May be called in a hard interrupt to switch it off
        if level is None:
            return self._target
        self._target = level
        if level == _OFF:
            self._switch_off()
        return None

    def tick(self, now_ms):
        if self._is_resting and ticks_diff(now_ms, self._off_ms) >= self._rest_ms:
            self._is_resting = False
        if ticks_diff(now_ms, self._next_ms) >= 0:
            self._next_ms = ticks_add(now_ms, _LOOK_MS)
            self._regulate()

    def close(self):
        self._pin.init(machine.Pin.IN)

    def handlers(self):
        return {THERMOSTAT_WRITE: self._write, THERMOSTAT_READ: self._read}

    def _regulate(self):
        target = self._target
        is_on = self._is_on()
        if self._must_be_on(target, is_on) and not (self._is_resting and not is_on):
            self._pin.value(self._on)
            if self._target == _OFF:
                # An interrupt came between: its word counts
                self._switch_off()
            return
        self._switch_off()

    def _switch_off(self):
        # It rests from then on, whoever ended it; may be called in a hard interrupt
        was_on = self._is_on()
        self._pin.value(1 - self._on)
        if was_on:
            self._off_ms = ticks_ms()
            self._is_resting = self._rest_ms > 0

    def _must_be_on(self, target, is_on):
        if target == _OFF:
            return False
        try:
            missing = target * 10 - self._thermometer.value(0)
        except Exception:  # whatever is wrong with it: a silent thermometer heats nothing
            return False
        if self._cools:
            missing = -missing
        if self._law is not None:
            return self._law.must_be_on(missing)
        # On from a whole band away, and until the target is reached
        return missing > (0 if is_on else self._band)

    def _is_on(self):
        return self._pin.value() == self._on

    def _write(self, arguments, answer, outputs):
        need(arguments, 3)
        index, target = struct.unpack_from("<BH", arguments, 0)
        if target > self.highest:
            text = "this thermostat is set to %d degrees at most" % (self.highest // 10)
            raise Refusal(frame.OUT_OF_RANGE, text)
        if target != _OFF:
            self._require_temperature()
        target = outputs.write(index, target, ticks_ms())
        struct.pack_into("<BH", answer, AT, self._is_on(), target)
        return 3

    def _require_temperature(self):
        # One that is silent says so at once; the first measurement is worth waiting for
        try:
            self._thermometer.value(0)
        except Refusal as refusal:
            if refusal.code != frame.BUSY_CODE:
                raise

    def _read(self, _arguments, answer, _outputs):
        struct.pack_into("<BH", answer, AT, self._is_on(), self._target)
        return 3
