# The pins by their index: those of the board file, then the configured entries.
#
# Reading is done here; driving only through outputs. `apply` puts other entries in place: outputs
# are safe before anything changes, and what stays as it was is not touched.

import machine
from node.outputs import Outputs
from node.slot import Slot
from node.wiring import Unfit, is_shadowed

_U16_FULL = 65535


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
        # Raises Unfit when an entry cannot be made; then nothing can be switched until others are
        self.outputs.replace(())
        self.ticking = ()
        old = [slot for slot in self._slots if slot is not None]
        rows = [None if is_shadowed(row, entries) else row for row in self._table]
        rows.extend(entries)
        kept = [_taken(old, row) for row in rows]
        for slot in old:
            slot.close()
        self._slots = []
        try:
            for at in range(len(rows)):
                self._slots.append(kept[at] or _made(rows[at]))
            self._connect()
            table = tuple([slot and slot.output for slot in self._slots])
        except Unfit:
            raise
        except Exception as err:  # memory, above all: no output without its interlocks
            raise Unfit(_told(err))  # noqa: B904  - MicroPython keeps no causes
        self.outputs.replace(table)

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

    def _connect(self):
        # What an output needs, once every pin is there
        named = {}
        made = [slot for slot in self._slots if slot is not None]
        behind = [slot.device or slot.input for slot in made]
        self.ticking = tuple([one for one in behind if hasattr(one, "tick")])
        for slot in made:
            if slot.is_readable:
                named[slot.row["name"]] = slot
        for slot in made:
            if slot.output is not None:
                needs = slot.row.get("needs", ())
                if not all(name in named for name, _value in needs):
                    raise Unfit(slot.row["name"] + ": it needs a pin that cannot be read")
                slot.output.needs = tuple(
                    [(named[name].read, value, name) for name, value in needs]
                )


def _made(row):
    if row is None:
        return None
    try:
        return _make(row)
    except Exception as err:  # of any driver; what it says is for whoever wrote the entry
        raise Unfit("%s: %s" % (row["name"], _told(err)))  # noqa: B904  - MicroPython keeps no causes


def _make(row):
    # A plain pin says what it can do; every other has a device behind it
    if "can" in row:
        return Slot(row, row["can"])
    return Slot(row, (), _device_class(row["kind"]))


def _device_class(kind):
    # Loaded when the first entry of its kind is made: what is not wired takes no memory.
    # Raises ImportError or AttributeError where this build lacks it.
    name = kind[0].upper() + kind[1:]
    return getattr(__import__("node.devices." + kind, None, None, (name,)), name)


def _taken(slots, row):
    # Takes the slot that was made of just that row out of those that are left over
    for at in range(len(slots)):
        if row is not None and slots[at].row == row:
            return slots.pop(at)
    return None


def _told(err):
    if isinstance(err, (ImportError, AttributeError)):
        return "this firmware has no driver for it"
    return str(err.args[0]) if err.args else type(err).__name__
