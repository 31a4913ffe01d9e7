# An HC-SR04: a distance, from the time that an echo takes.
#
# Nothing waits for the echo. A pass of the loop sends the pulse, an interrupt notes when the echo's
# line rises and falls, and a later pass looks at what was noted.

import struct
from time import sleep_us, ticks_add, ticks_diff, ticks_ms, ticks_us

import frame
import machine
from micropython import const
from node.calls import AT, Refusal

DISTANCE_READ = 35

# What the sensor takes for a call
_CALL_US = const(10)
# What it can measure; nearer it hears itself
_NEAREST_MM = const(20)
_FURTHEST_MM = const(4_000)
# Where nothing comes back some wait for 200 ms
_WAIT_MOST_MS = const(500)
# Sound takes so long for 343 mm, there and back, at 20 degrees
_SOUND_MM = const(343)
_SOUND_US = const(2_000)

_RESTING, _CALLED, _RISEN, _FALLEN = range(4)
# What is known; the first two are the states that the method tells
_IN_RANGE, _OUT_OF_RANGE, _UNKNOWN, _SILENT, _STUCK = range(5)


class Hcsr04:
    def __init__(self, entry):
        self._timeout_ms = entry["timeout_ms"]
        self._interval_ms = entry["interval_ms"]
        self._step = _RESTING
        self._state = _UNKNOWN
        self._millimetres = 0
        # Of the echo, as the interrupt noted them
        self._rose_us = 0
        self._fell_us = 0
        # When it was last called, and when its line was last seen at rest
        self._low_ms = ticks_ms()
        self._called_ms = ticks_add(self._low_ms, -self._interval_ms)
        self._trigger = machine.Pin(entry["pin"], machine.Pin.OUT, value=0)
        # Pulled down, so that a wire that is not there is silence
        self._echo = machine.Pin(entry["echo"], machine.Pin.IN, machine.Pin.PULL_DOWN)
        edges = machine.Pin.IRQ_RISING | machine.Pin.IRQ_FALLING
        self._echo.irq(self._edge, edges, hard=True)

    def value(self, part=0):
        # Part 0 is the state, part 1 the distance in millimetres
        if part > 1:
            return None
        if self._state == _UNKNOWN:
            raise Refusal(frame.BUSY_CODE, "the first measurement is under way")
        if self._state == _SILENT:
            raise Refusal(frame.IO, "no HC-SR04 answers")
        if self._state == _STUCK:
            raise Refusal(frame.IO, "the echo line of the HC-SR04 stays high")
        if not part:
            return self._state
        if self._state == _OUT_OF_RANGE:
            raise Refusal(frame.IO, "nothing is in range of the HC-SR04")
        return self._millimetres

    def handlers(self):
        return {DISTANCE_READ: self._read}

    def close(self):
        self._echo.irq(None)
        self._trigger.init(machine.Pin.IN)

    def tick(self, now_ms):
        passed_ms = ticks_diff(now_ms, self._called_ms)
        if self._step == _FALLEN:
            self._step = _RESTING
            self._judge()
        elif self._step == _RESTING:
            if passed_ms >= self._interval_ms:
                self._call(now_ms)
        elif passed_ms > self._timeout_ms:
            # It answered, and nothing came back; or it did not answer at all
            self._state = _OUT_OF_RANGE if self._step == _RISEN else _SILENT
            self._step = _RESTING

    def _call(self, now_ms):
        self._called_ms = now_ms
        if self._echo.value():
            # It still waits for the last echo, and would not hear a call
            if ticks_diff(now_ms, self._low_ms) > _WAIT_MOST_MS:
                self._state = _STUCK
            return
        self._low_ms = now_ms
        self._step = _CALLED
        self._trigger.value(1)
        sleep_us(_CALL_US)
        self._trigger.value(0)

    def _edge(self, _pin):
        # A hard interrupt: nothing here may allocate
        if self._step == _CALLED:
            self._rose_us = ticks_us()
            self._step = _RISEN
        elif self._step == _RISEN:
            self._fell_us = ticks_us()
            self._step = _FALLEN

    def _judge(self):
        echo_us = ticks_diff(self._fell_us, self._rose_us)
        self._millimetres = echo_us * _SOUND_MM // _SOUND_US
        is_in_range = (
            echo_us <= self._timeout_ms * 1000 and _NEAREST_MM <= self._millimetres <= _FURTHEST_MM
        )
        self._state = _IN_RANGE if is_in_range else _OUT_OF_RANGE

    def _read(self, _arguments, answer, _outputs):
        # The result ends before a distance that there is not
        answer[AT] = self.value(0)
        if self._state == _OUT_OF_RANGE:
            return 1
        struct.pack_into("<H", answer, AT + 1, self._millimetres)
        return 3
