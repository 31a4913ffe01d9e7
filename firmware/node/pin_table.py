# Makes the table of pins: of each row what is behind it, and of each output what it needs.
#
# Loaded when pins are put in place. What stays as it was is not touched.

from time import ticks_ms

import machine
from node.outputs import Output
from node.pins import Slot, Unfit
from node.wiring import is_shadowed

_PULLS = {"up": machine.Pin.PULL_UP, "down": machine.Pin.PULL_DOWN, "": machine.Pin.PULL_NONE}


def fill(slots, old, table, entries):
    # Of the rows of the board file, and behind them of the entries, in the place of the old ones
    old = [slot for slot in old if slot is not None]
    rows = [None if is_shadowed(row, entries) else row for row in table]
    rows.extend(entries)
    kept = [_taken(old, row) for row in rows]
    for slot in old:
        _close(slot)
    # First those that stay: where another one cannot be made, none of them is lost
    slots.extend(kept)
    try:
        for at in range(len(rows)):
            slots[at] = kept[at] or _made(rows[at])
        _connect([slot for slot in slots if slot is not None])
    except Unfit:
        raise
    except Exception as err:  # memory, above all: no output without its interlocks
        raise Unfit(_told(err))  # noqa: B904  - MicroPython keeps no causes


def ticking(slots):
    # Devices and inputs that want to be looked after in every pass
    behind = [slot.device or slot.input for slot in slots if slot is not None]
    return tuple([one for one in behind if hasattr(one, "tick")])


def _connect(made):
    # What an output needs and what a device reads, once every pin is there
    named = {}
    for slot in made:
        if slot.input is not None or hasattr(slot.device, "value"):
            named[slot.row["name"]] = slot
    for slot in made:
        if hasattr(slot.device, "connect"):
            slot.device.connect(named)
        if slot.output is not None:
            needs = slot.row.get("needs", ())
            if not all(name in named for name, _value in needs):
                raise Unfit(slot.row["name"] + ": it needs a pin that cannot be read")
            if needs:
                found = [(named[name].read, value, name) for name, value in needs]
                slot.output.needs = tuple(found)


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
        return _with_pin(Slot(row), row["can"])
    return _with_device(Slot(row), _device_class(row["kind"]))


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


def _with_device(slot, device_class):
    now_ms = _prepared(slot)
    device = slot.device = device_class(slot.row)
    slot.handlers = device.handlers()
    if hasattr(device, "safe"):
        slot.output = Output(device, slot.row, now_ms, device.safe)
    return slot


def _with_pin(slot, can):
    row = slot.row
    now_ms = _prepared(slot)
    # An analog pin stays out of digital mode, which would load what it measures
    pin = machine.Pin(row["pin"])
    if "adc" in can:
        slot.analog = machine.ADC(pin)
    if "in" in can:
        slot.input = pin
    if "out" in can:
        slot.output = Output(pin, row, now_ms)
    if "in" in can and (slot.output is None or not slot.output.is_driven):
        pin.init(machine.Pin.IN, _PULLS[row.get("pull", "")])
    if row.get("debounce_ms"):
        from node.debounced import Debounced  # noqa: PLC0415  - loaded when it is needed

        # In the shape of a pin
        slot.input = Debounced(pin, row["debounce_ms"])
    return slot


def _prepared(slot):
    if slot.row.get("active_low", False):
        slot.inverted = 1
    return ticks_ms()


def _close(slot):
    # Another will have the pin
    if slot.device is not None:
        if hasattr(slot.device, "close"):
            slot.device.close()
    elif slot.analog is None:
        machine.Pin(slot.row["pin"], machine.Pin.IN, machine.Pin.PULL_NONE)
