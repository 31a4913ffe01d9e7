# One position in the table of pins: what a pin or a configured entry is made of.

from time import ticks_ms

import machine
from node.outputs import Output

_PULLS = {"up": machine.Pin.PULL_UP, "down": machine.Pin.PULL_DOWN, "": machine.Pin.PULL_NONE}


class Slot:
    # `row` is a row of the board file or an entry of the configuration; `device` the class of the
    # device behind it, None for a plain pin that can do what `can` says.

    # What it has of these; in the class, where None takes no memory of every slot
    input = None
    analog = None
    output = None
    device = None
    # The device's own methods by number
    handlers = None
    inverted = 0

    def __init__(self, row, can, device=None):
        self.row = row
        now_ms = ticks_ms()
        if row.get("active_low", False):
            self.inverted = 1
        if device is None:
            self._add_pin(can, now_ms)
            return
        self.device = device(row)
        self.handlers = self.device.handlers()
        if hasattr(self.device, "safe"):
            self.output = Output(self.device, row, now_ms, self.device.safe)

    def _add_pin(self, can, now_ms):
        row = self.row
        # An analog pin stays out of digital mode, which would load what it measures
        pin = machine.Pin(row["pin"])
        if "adc" in can:
            self.analog = machine.ADC(pin)
        if "in" in can:
            self.input = pin
        if "out" in can:
            self.output = Output(pin, row, now_ms)
        if "in" in can and (self.output is None or not self.output.is_driven):
            pin.init(machine.Pin.IN, _PULLS[row.get("pull", "")])
        if row.get("debounce_ms"):
            from node.debounced import Debounced  # noqa: PLC0415  - loaded when it is needed

            # In the shape of a pin
            self.input = Debounced(pin, row["debounce_ms"])  # type: ignore[assignment]  # as above

    def read(self):
        # Its logical value as a whole number: 0 or 1, millivolts are not for here
        if self.input is not None:
            return self.input.value() ^ self.inverted
        return self.device.value()  # type: ignore[union-attr]  # it is one or the other

    @property
    def is_readable(self):
        return self.input is not None or hasattr(self.device, "value")

    def close(self):
        # Another will have the pin
        if self.device is not None:
            if hasattr(self.device, "close"):
                self.device.close()
        elif self.analog is None:
            machine.Pin(self.row["pin"], machine.Pin.IN, machine.Pin.PULL_NONE)
