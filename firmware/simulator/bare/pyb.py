# Stands in for MicroPython's pyb module while memory is measured.

import ram


class ADCAll:
    def __init__(self, _resolution, _mask):
        pass


class Flash:
    # Blocks in a file, which scripts/flash has divided.

    _file = open("flash.bin", "r+b")  # noqa: SIM115  - open for as long as it is measured

    def __init__(self, start):
        pass

    def readblocks(self, block, buffer):
        self._file.seek(block * 512)
        self._file.readinto(buffer)

    def writeblocks(self, block, buffer):
        self._file.seek(block * 512)
        self._file.write(buffer)

    def ioctl(self, operation, _argument):
        return self._file.seek(0, 2) // 512 if operation == 4 else 0


class Timer:
    def __init__(self, _number, freq):
        pass

    def callback(self, _function):
        pass


def USB_VCP(_number):  # noqa: N802  - MicroPython's name
    return ram.LINE


def usb_mode(_mode):
    pass
