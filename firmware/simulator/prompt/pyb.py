# Stands in for `pyb` at the prompt of a NUCLEO-F411RE: one LED at PA5, a button, no timer 17.

from machine import Pin

_TIMERS = (1, 2, 3, 4, 5, 9, 10, 11)
_NUM_BLOCKS = 4


class LED:
    def __init__(self, number):
        if number > 1:
            raise ValueError("LED(%d) doesn't exist" % number)

    def on(self):
        Pin.cpu.A5.level = 1

    def off(self):
        Pin.cpu.A5.level = 0


class Switch:
    def value(self):
        return Pin.cpu.C13.level == 0


class Timer:
    def __init__(self, number, freq):
        if number not in _TIMERS:
            raise ValueError("Timer(%d) doesn't exist" % number)

    def deinit(self):
        pass


class ADCAll:
    def __init__(self, _resolution, _mask):
        pass

    def read_core_vref(self):
        return 1.2

    def read_core_temp(self):
        return 31.5


class Flash:
    def __init__(self, start):
        pass

    def ioctl(self, what, _argument):
        return 128 if what == _NUM_BLOCKS else 0


class _Uart:
    def __repr__(self):
        return "UART(2, baudrate=115200, bits=8, parity=None, stop=1, flow=0, timeout=0)"


def repl_uart():
    return _Uart()
