# Measures the memory of the firmware while it runs: what the interpreter holds after a collection.
#
# `steps` has one step in each line: bytes of the Pi in hexadecimal, a name under which to measure,
# or nothing, which is a pass without anything. Every figure goes to standard output.

import gc
import sys

import micropython

_steps = open("steps")  # noqa: SIM115  - open for as long as it is measured


class _Line:
    # The link: a zero byte, which ends the window of boot.py, then what the steps say.

    def __init__(self):
        self._waiting = b"\0"

    def put(self, data):
        self._waiting = data

    def any(self):
        return len(self._waiting)

    def read(self, _limit):
        data, self._waiting = self._waiting, b""
        return data

    def readinto(self, buffer, _limit=0):
        data = self.read(0)
        buffer[: len(data)] = data
        return len(data)

    def write(self, _data, length):
        return length


LINE = _Line()


def measure(name):
    gc.collect()
    taken = gc.mem_alloc()
    # Prints the largest free piece
    micropython.mem_info()
    sys.stdout.write("%s %d\n" % (name, taken))


def step():
    # Called once in every pass of the firmware
    said = _steps.readline().strip()
    if said == "end":
        sys.exit(0)
    if said.startswith("="):
        measure(said[1:])
    elif said:
        LINE.put(bytes.fromhex(said))


def main(prepare=None):
    measure("bare")
    if prepare is not None:
        prepare()
    import machine  # noqa: F401, PLC0415  - counted as the board's
    import pyb  # noqa: F401, PLC0415  - as above

    # The firmware asks for none of it. The table of names grows in steps: with these the figures
    # can be compared with those of before
    import stm  # noqa: F401, PLC0415

    space = {"__name__": "__main__"}
    measure("start")
    for name in ("boot.py", "main.py"):
        with open(name) as file:
            exec(compile(file.read(), name, "exec"), space)  # noqa: S102  - as a board does
