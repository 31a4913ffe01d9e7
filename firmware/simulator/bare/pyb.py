# Stands in for MicroPython's pyb module while memory is measured.

import ram


class ADCAll:
    def __init__(self, _resolution, _mask):
        pass


class Timer:
    def __init__(self, _number, freq):
        pass

    def callback(self, _function):
        pass


def USB_VCP(_number):  # noqa: N802  - MicroPython's name
    return ram.LINE


def usb_mode(_mode):
    pass
