# Stands in for the few things of MicroPython's pyb module that the firmware uses.

import interrupts
import machine
import world


class ADCAll:
    def __init__(self, resolution, mask):
        pass

    def read_core_vref(self):
        return 1.21

    def read_core_temp(self):
        return world.temperature()

    def read_vref(self):
        return world.quantity("supply")


class Timer:
    # A hardware timer, whose callback runs in a hard interrupt.

    def __init__(self, number, freq):
        self._period_ms = 1000 // freq

    def callback(self, function):
        interrupts.every(self._period_ms, function, world.record_fault)


def USB_VCP(_number):  # noqa: N802  - MicroPython's name
    return machine.LinkStream()


def usb_mode(_mode):
    pass
