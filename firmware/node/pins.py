# The board's pins, made from the table of the board file.
#
# Reading is done here; driving only through outputs.

import machine
from node.outputs import LEASE_DEFAULT_MS, Output, Outputs
from node.ring import Edges

_PULLS = {"up": machine.Pin.PULL_UP, "down": machine.Pin.PULL_DOWN, "": machine.Pin.PULL_NONE}
_U16_FULL = 65535


class Pins:
    # `table` is the board file's PINS; an index is a position in it, as in the manifest.

    def __init__(self, table, supply_mv):
        self._supply_mv = supply_mv
        # By index, None where the pin cannot do that
        self._inputs = []
        self._inverted = []
        self._analog = []
        self.outputs = Outputs(tuple(self._add(row) for row in table))

    def can_read(self, index):
        return index < len(self._inputs) and self._inputs[index] is not None

    def can_measure(self, index):
        return index < len(self._analog) and self._analog[index] is not None

    @property
    def any_inputs(self):
        return any(pin is not None for pin in self._inputs)

    @property
    def any_analog(self):
        return any(pin is not None for pin in self._analog)

    @property
    def any_outputs(self):
        return any(self.outputs.find(index) is not None for index in range(len(self._inputs)))

    def read(self, index):
        return self._inputs[index].value() ^ self._inverted[index]

    def logical(self, index, level):
        return level ^ self._inverted[index]

    def watch(self, index, ring):
        # Every edge goes into the ring; None where the pin has no interrupt that is free, since
        # pins of the same number share one
        pin = self._inputs[index] if self.can_read(index) else None
        if not hasattr(pin, "irq"):
            return None
        edges = Edges(ring, index, pin)
        try:
            pin.irq(edges.handler, machine.Pin.IRQ_RISING | machine.Pin.IRQ_FALLING, hard=True)
        except (OSError, ValueError):
            return None
        return edges

    def unwatch(self, index):
        self._inputs[index].irq(None)

    def millivolts(self, index):
        return self._analog[index].read_u16() * self._supply_mv // _U16_FULL

    def _add(self, row):
        # Returns what drives the pin, None when it is no output
        can = row["can"]
        active_low = row.get("active_low", False)
        self._inverted.append(1 if active_low else 0)
        # An analog pin stays out of digital mode, which would load what it measures
        pin = machine.Pin(row["pin"])
        self._analog.append(machine.ADC(pin) if "adc" in can else None)
        self._inputs.append(pin if "in" in can else None)
        output = None
        if "out" in can:
            safe = row.get("safe", 0)
            lease_ms = row.get("lease_ms", LEASE_DEFAULT_MS)
            output = Output(pin, active_low, safe, lease_ms, row.get("floating", False))
        if "in" in can and (output is None or not output.is_driven):
            pin.init(machine.Pin.IN, _PULLS[row.get("pull", "")])
        return output
