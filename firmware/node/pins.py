# The pins by their index: those of the board file, then the configured entries.
#
# Reading is done here; driving only through outputs. `apply` puts other entries in place: outputs
# are safe before anything changes, and what stays as it was is not touched.

import machine
from node.outputs import Outputs

_U16_FULL = 65535


class Unfit(Exception):
    # The configuration is refused; the text names the entry and what is wrong with it.
    pass


class Slot:
    # One position in the table: `row` is a row of the board file or an entry of the configuration.
    # node/pin_table.py puts the rest in.

    # What it has of these; in the class, where None takes no memory of every slot
    input = None
    analog = None
    output = None
    device = None
    # The device's own methods by number
    handlers = None
    inverted = 0

    def __init__(self, row):
        self.row = row

    def read(self):
        # Its logical value as a whole number: 0 or 1, millivolts are not for here
        if self.input is not None:
            return self.input.value() ^ self.inverted  # type: ignore[unreachable]
        return self.device.value()  # type: ignore[attr-defined]  # it is one or the other


class Pins:
    # `table` is the board file's PINS; an index is a position in it, as in the manifest, and
    # behind it a position among the entries. A row that an entry shadows keeps its index: None.

    def __init__(self, table, supply_mv, entries=()):
        self._table = table
        self._supply_mv = supply_mv
        self._slots = []
        # Devices and inputs that want to be looked after in every pass
        self.ticking = ()
        self.outputs = Outputs()
        self.apply(entries)

    def apply(self, entries):
        # Raises Unfit when an entry cannot be made; then nothing can be switched until others are.
        # The code of it stays loaded: whoever asked says when it was the last time.
        try:
            from node import pin_table  # noqa: PLC0415  - needed for moments
        except MemoryError:
            raise Unfit("too little memory")  # noqa: B904  - MicroPython keeps no causes
        self.outputs.replace(())
        self.ticking = ()
        old = self._slots
        self._slots = []
        pin_table.fill(self._slots, old, self._table, entries)
        self.ticking = pin_table.ticking(self._slots)
        self.outputs.replace(tuple([slot and slot.output for slot in self._slots]))

    def can_read(self, index):
        return self.find(index) is not None and self._slots[index].input is not None

    def can_switch(self, index):
        # A plain output, which is off or on; a device has methods of its own
        return self.can_read(index) and self._slots[index].output is not None

    def can_measure(self, index):
        return self.find(index) is not None and self._slots[index].analog is not None

    def find(self, index):
        # The slot of that index, None where there is none or an entry has its pin
        return self._slots[index] if index < len(self._slots) else None

    def read(self, index):
        return self._slots[index].read()

    def logical(self, index, level):
        return level ^ self._slots[index].inverted

    def watch(self, index, ring):
        # Every edge goes into the ring; None where the pin has no interrupt that is free, since
        # pins of the same number share one
        pin = self._slots[index].input if self.can_read(index) else None
        if pin is None or not hasattr(pin, "irq"):
            return None
        from node.ring import Edges  # noqa: PLC0415  - on demand

        edges = Edges(ring, index, pin)
        try:
            pin.irq(edges.handler, machine.Pin.IRQ_RISING | machine.Pin.IRQ_FALLING, hard=True)
        except (OSError, ValueError):
            return None
        return edges

    def unwatch(self, index):
        slot = self.find(index)
        if slot is not None and hasattr(slot.input, "irq"):
            slot.input.irq(None)

    def millivolts(self, index):
        return self._slots[index].analog.read_u16() * self._supply_mv // _U16_FULL
