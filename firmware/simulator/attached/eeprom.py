# A small memory on I2C: 256 bytes, the first byte that is written says from where.

_BYTES = 256


class Thing:
    changeable = ("absent", "holds_bus", "holds_data")

    def __init__(self, name, pin, address=0x50):
        self.name = name
        self.pin = pin
        self.address = address
        self.quantities = ()
        self.absent = False
        # Interrupted in the middle of a byte, it keeps a line low
        self.holds_bus = False
        self.holds_data = False
        self._content = bytearray(b"\xff" * _BYTES)
        self._at = 0

    def tick(self, now_ms):
        pass

    def write(self, data):
        for at, value in enumerate(data):
            if at == 0:
                self._at = value
            else:
                self._content[self._at] = value
                self._at = (self._at + 1) % _BYTES

    def read(self, count):
        data = bytes(self._content[(self._at + at) % _BYTES] for at in range(count))
        self._at = (self._at + count) % _BYTES
        return data
