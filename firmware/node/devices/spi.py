# An SPI bus on any pins, with the one device that `pin` selects.
#
# What is sent may move something: it is refused while the outputs are locked. 32 bytes take less
# than 1 ms at the usual rates.

import machine
from micropython import const
from node.calls import need
from node.devices import data
from node.devices.data import require_unlocked

SPI_TRANSFER = 31

_DATA_MOST_BYTES = const(32)


class Spi:
    def __init__(self, entry):
        mode = entry["mode"]
        # Nothing is selected while it is high
        self._select = machine.Pin(entry["pin"], machine.Pin.OUT, value=1)
        self._driven = (
            self._select,
            machine.Pin(entry["sck"]),
            machine.Pin(entry["mosi"]),
        )
        self._bus = machine.SoftSPI(
            baudrate=entry["frequency"],
            polarity=mode >> 1,
            phase=mode & 1,
            sck=self._driven[1],
            mosi=self._driven[2],
            miso=machine.Pin(entry["miso"]),
        )
        self._buffer = bytearray(_DATA_MOST_BYTES)

    def close(self):
        for pin in self._driven:
            pin.init(machine.Pin.IN)

    def handlers(self):
        return {SPI_TRANSFER: self._transfer}

    def _transfer(self, arguments, answer, outputs):
        need(arguments, 2)
        require_unlocked(outputs)
        given = data.take(arguments, 1, _DATA_MOST_BYTES)
        count = len(given)
        self._select.value(0)
        try:
            self._bus.write_readinto(given, memoryview(self._buffer)[:count])
        finally:
            self._select.value(1)
        return data.put(answer, self._buffer, count)
