# A shift register on SPI: what was sent comes back in the next transfer.


class Thing:
    changeable = ()

    def __init__(self, name, pin):
        self.name = name
        self.pin = pin
        self.quantities = ()
        self._held = 0

    def tick(self, now_ms):
        pass

    def transfer(self, data):
        back = bytes([self._held]) + data[:-1]
        self._held = data[-1]
        return back
