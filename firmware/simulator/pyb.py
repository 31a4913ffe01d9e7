# Stands in for the few things of MicroPython's pyb module that the firmware uses.

import interrupts
import machine
import world
from quantity import SUPPLY_V

# As many as any board has; 16 bits each
_TIMERS = 17
_COUNTER_MOST = 65_535
_SOURCE_HZ = 84_000_000


class ADCAll:
    def __init__(self, resolution, mask):
        pass

    def read_core_vref(self):
        return 1.21

    def read_core_temp(self):
        return world.temperature()

    def read_vref(self):
        return world.quantity("supply")


class DAC:
    # May be set from an interrupt, as the real one.

    def __init__(self, pin, bits):
        self._name = pin.name
        self._steps = (1 << bits) - 1

    def write(self, value):
        with interrupts.step:
            world.record_voltage(self._name, value / self._steps * SUPPLY_V)

    def deinit(self):
        self.write(0)


class Timer:
    # A hardware timer, whose callback runs in a hard interrupt: of a fixed frequency, or one that
    # counts microseconds up to a period that the callback changes.

    def __init__(self, number, freq=0):
        if not 1 <= number <= _TIMERS:
            raise ValueError("Timer(%d) doesn't exist" % number)
        self._period_ms = 1000 // freq if freq else 0
        self._timed = None

    def callback(self, function):
        interrupts.every(self._period_ms, function, world.record_fault)

    def source_freq(self):
        return _SOURCE_HZ

    def init(self, prescaler, period, callback):
        if prescaler != _SOURCE_HZ // 1_000_000 - 1:
            raise ValueError("it would not count microseconds")
        self._timed = interrupts.Timed(callback, world.record_fault)
        self.period(period)
        self._timed.start()

    def period(self, microseconds):
        if not 0 < microseconds <= _COUNTER_MOST:
            raise ValueError("period out of range")
        self._timed.period_us = microseconds

    def counter(self, _count):
        pass

    def deinit(self):
        if self._timed is not None:
            self._timed.is_over = True


def USB_VCP(_number):  # noqa: N802  - MicroPython's name
    return machine.LinkStream()


def usb_mode(_mode):
    pass
