# A stepper motor behind a driver with step, direction and enable: A4988, DRV8825, TMC2209, TB6600.
#
# To outputs.py it looks like a pin: 1 while the motor is held or turns, 0 when its driver is off,
# which is its safe value. A timer makes the steps in a hard interrupt, where nothing may allocate:
# each sets the time until the next one, and looks at the end stop before it. The ramp is the one of
# Austin's "Generate stepper-motor speed profiles in real time": after n steps the time between two
# is shorter by 2 / (4 n + 1) of itself.

import struct
from time import ticks_ms

import board
import frame
import machine
import pyb
from micropython import const
from node.calls import AT, Refusal, need

STEPPER_MOVE = 45
STEPPER_HOME = 46
STEPPER_RELEASE = 47
STEPPER_READ = 48

# Of a timer with 16 bits that counts microseconds, while there is nothing to do
_IDLE_US = const(60_000)
# A microsecond is too coarse to accelerate by
_PARTS = const(16)
# How long the first step of the ramp takes, by the formula with its correction
_FIRST = const(676_000)

# Those in use: MicroPython gives out the same one again, and the callback of the first is gone
_timers: set = set()

_MOVING, _SEEKING, _LEAVING = range(3)
_RELEASED, _HOLDING, _TURNS, _HOMING, _MET, _NOT_FOUND = range(6)


class Stepper:
    OUT = machine.Pin.OUT
    safe = 0

    def __init__(self, entry):
        self._number = number = _free(entry["timer"])
        self._travel = entry["travel"]
        self._least = 1_000_000 // entry["speed"] * _PARTS
        first_us = int(_FIRST * (2 / entry["acceleration"]) ** 0.5)
        self._first = max(self._least, first_us * _PARTS)
        self._home_us = 1_000_000 // entry["home_speed"]
        # Levels: of the enable input while it is on, and of a stop that is not met
        self._on = entry["enable_high"]
        self._free = entry["stops_close"]
        self._enable = machine.Pin(entry["enable"], machine.Pin.OUT, value=1 - self._on)
        self._step = machine.Pin(entry["pin"], machine.Pin.OUT, value=0)
        self._direction = machine.Pin(entry["direction"], machine.Pin.OUT, value=1)
        self._low = _stop(entry, "low_stop")
        self._high = _stop(entry, "high_stop")
        self._position = 0
        # Without a stop it is 0 where it stands
        self._is_homed = self._low is None
        self._target = 0
        self._mode = _MOVING
        self._state = _HOLDING
        self._is_running = False
        self._way = 1
        # How many steps it takes to stand still, and the time until the next one
        self._ramp = 0
        self._interval = self._first
        # What `value(1)` begins
        self._wanted = (_MOVING, 0)
        self._callback = self._beat
        self._timer = pyb.Timer(number)
        prescaler = self._timer.source_freq() // 1_000_000 - 1
        self._timer.init(prescaler=prescaler, period=_IDLE_US, callback=self._callback)
        _timers.add(number)

    def init(self, _mode, value):
        self.value(value)

    def value(self, level=None):
        # May be called in a hard interrupt to switch it off
        if level is None:
            return 1 if self._enable.value() == self._on else 0
        if level:
            self._enable.value(self._on)
            self._begin(*self._wanted)
            return None
        self._enable.value(1 - self._on)
        if self._is_running:
            # It coasts to a stop: nobody knows where that is
            self._is_running = False
            self._is_homed = self._is_homed and self._low is None
            self._ramp = 0
        return None

    def close(self):
        _timers.discard(self._number)
        self._timer.deinit()
        for pin in (self._enable, self._step, self._direction):
            pin.init(machine.Pin.IN)

    def handlers(self):
        return {
            STEPPER_MOVE: self._move,
            STEPPER_HOME: self._home,
            STEPPER_RELEASE: self._release,
            STEPPER_READ: self._read,
        }

    def _begin(self, mode, target):
        # One that moves goes on from the speed that it has: a beat that found it at rest meanwhile
        # would halt it for a while, and a motor at full speed loses steps
        if mode == _SEEKING or not self._is_running:
            self._is_running = False
            self._ramp = 0
            self._interval = self._first
        if mode == _SEEKING:
            self._is_homed = False
            self._way = -1
            self._direction.value(0)
        self._mode = mode
        self._target = target
        self._state = _HOLDING
        self._is_running = True

    # In a hard interrupt from here on: integers only, nothing may allocate

    def _beat(self, _timer):
        if not self._is_running:
            self._timer.period(_IDLE_US)
            return
        if self._mode == _MOVING:
            self._advance()
            self._timer.period(self._interval // _PARTS)
        else:
            self._seek()
            self._timer.period(self._home_us)
        # The counter may be beyond a shorter period already, and would go around once
        self._timer.counter(0)

    def _advance(self):
        left = (self._target - self._position) * self._way
        if not self._ramp and left <= 0:
            if not left:
                self._is_running = False
                return
            # The next beat is the first step: the driver needs a moment to see the direction
            self._turn_around()
            return
        if self._is_at_stop():
            self._is_running = False
            self._is_homed = self._is_homed and self._low is None
            self._ramp = 0
            self._interval = self._first
            self._state = _MET
            return
        self._pulse()
        if left - 1 <= self._ramp:
            if self._ramp:
                self._interval += max(1, 2 * self._interval // (4 * self._ramp - 1))
                self._ramp -= 1
            if not self._ramp:
                self._interval = self._first
        elif self._interval > self._least:
            self._ramp += 1
            # Never by nothing: a step that makes it no faster would still have to be taken back
            less = max(1, 2 * self._interval // (4 * self._ramp + 1))
            self._interval = max(self._least, self._interval - less)

    def _seek(self):
        # To the low stop, and back until it is not met any more: that is 0
        is_met = self._low.value() != self._free
        if self._mode == _SEEKING and is_met:
            self._mode = _LEAVING
            self._target = self._position + self._travel
            self._turn_around()
        elif self._mode == _LEAVING and not is_met:
            self._position = self._target = 0
            self._is_homed = True
            self._mode = _MOVING
            self._is_running = False
        elif self._position == self._target:
            # A whole way and nothing was met, or left again
            self._state = _NOT_FOUND
            self._mode = _MOVING
            self._is_running = False
        else:
            self._pulse()

    def _turn_around(self):
        self._way = -self._way
        self._direction.value(self._way > 0)

    def _is_at_stop(self):
        stop = self._low if self._way < 0 else self._high
        return stop is not None and stop.value() != self._free

    def _pulse(self):
        # What is done in between is longer than any driver asks for
        self._step.value(1)
        self._position += self._way
        self._step.value(0)

    # And in the loop again

    def _move(self, arguments, answer, outputs):
        need(arguments, 5)
        index, position = struct.unpack_from("<Bi", arguments, 0)
        if not 0 <= position <= self._travel:
            raise Refusal(frame.OUT_OF_RANGE, "this stepper goes 0 to %d steps" % self._travel)
        self._require_settled()
        if not self._is_homed:
            raise Refusal(frame.BUSY_CODE, "home it first: it does not know where it is")
        return self._start(index, _MOVING, position, answer, outputs)

    def _home(self, arguments, answer, outputs):
        index = arguments[0]
        self._require_settled()
        if self._low is None:
            if self._is_running:
                raise Refusal(frame.BUSY_CODE, "it is moving: release it first")
            self._start(index, _MOVING, self._position, answer, outputs)
            # Only now, because that may be refused
            self._is_running = False
            self._position = self._target = 0
            return self._tell(answer)
        # An eighth more than it can be away
        far = self._position - self._travel - self._travel // 8 - 1
        return self._start(index, _SEEKING, far, answer, outputs)

    def _start(self, index, mode, target, answer, outputs):
        self._wanted = (mode, target)
        outputs.write(index, 1, ticks_ms())
        return self._tell(answer)

    def _require_settled(self):
        if self._is_running and self._mode != _MOVING:
            raise Refusal(frame.BUSY_CODE, "it is looking for its end stop")

    def _release(self, arguments, answer, outputs):
        outputs.write(arguments[0], 0, ticks_ms())
        return self._tell(answer)

    def _read(self, _arguments, answer, _outputs):
        return self._tell(answer)

    def _tell(self, answer):
        state = self._state
        is_on = self.value()
        if not is_on:
            state = _RELEASED
        elif self._is_running:
            state = _TURNS if self._mode == _MOVING else _HOMING
        struct.pack_into("<BBBi", answer, AT, is_on, state, self._is_homed, self._position)
        return 7


def _free(timer):
    if timer == board.DEADMAN_TIMER:
        raise ValueError("timer %d looks for a silent Pi: take another" % timer)
    if timer in _timers:
        raise ValueError("timer %d turns another stepper: take another" % timer)
    return timer


def _stop(entry, name):
    # Pulled up: open, as a contact that is met or a wire that is broken, unless it closes
    if name not in entry:
        return None
    return machine.Pin(entry[name], machine.Pin.IN, machine.Pin.PULL_UP)
