# What is attached to the simulated board: sensors, servos, memories, by the pin they hang on.
#
# Every kind is a module in attached/ with a class Thing. A thing has a `name`, the `pin` by which
# it is found, `quantities` (the names of what it measures), `changeable` (what an order may set),
# tick(now_ms), and the calls of its kind.

import os

_KINDS = os.listdir(__file__.rsplit("/", 1)[0] + "/attached")

# Those that the firmware has found, and the entries of the others: an interpreter whose memory is
# that of a board has no room for what nobody uses
_all = []
_waiting = []
# Data lines of the I2C buses that are open, by their clocks
_data_lines = {}


def load(entries):
    for entry in entries:
        settings = dict(entry)
        if "%s.py" % settings.get("kind") not in _KINDS:
            raise ValueError("no such device: " + str(settings.get("kind")))
        settings.setdefault("name", settings["kind"])
        _waiting.append(settings)


def wake(key, value):
    # The firmware uses that pin, or an order means that name
    for settings in [one for one in _waiting if one.get(key) == value]:
        _waiting.remove(settings)
        kind = settings.pop("kind")
        module = __import__("attached." + kind, None, None, ("Thing",))
        _all.append(module.Thing(**settings))


def at(pin, call):
    # The thing on that pin that knows the call, None when nothing there does
    for thing in _all:
        if thing.pin == pin and hasattr(thing, call):
            return thing
    return None


def shown_at(pin):
    # The level to which a thing drives that line, None where none does
    for thing in _all:
        if hasattr(thing, "shows"):
            shown = thing.shows(pin)
            if shown is not None:
                return shown
    return None


def on_line(pin):
    # Those on a 1-Wire line
    return [thing for thing in _all if thing.pin == pin and hasattr(thing, "reset_line")]


def open_bus(clock, data):
    _data_lines[data] = clock
    wake("pin", clock)


def is_pulled_up(line):
    # Whether it is the data line of a bus, which has its resistor, and nobody holds it
    clock = _data_lines.get(line)
    return clock is not None and not is_held(clock) and not is_data_held(clock)


def is_held(pin):
    return any(thing.pin == pin and getattr(thing, "holds_bus", False) for thing in _all)


def is_data_held(pin):
    # The data line stays low: it looks as if everybody answered, and every bit were 0
    return any(thing.pin == pin and getattr(thing, "holds_data", False) for thing in _all)


def on_bus(pin, address):
    for thing in _all:
        if thing.pin == pin and getattr(thing, "address", None) == address and not thing.absent:
            return thing
    return None


def selected(driven):
    # The one on SPI whose select line is low
    for thing in _all:
        if hasattr(thing, "transfer") and driven.get(thing.pin) == 0:
            return thing
    return None


def quantities():
    named = [name for thing in _all for name in thing.quantities]
    return named + [value for one in _waiting for value in one.values() if isinstance(value, str)]


def tick(now_ms):
    for thing in _all:
        thing.tick(now_ms)


def change(orders):
    # {"name": {"attribute": value}}: only what a thing lists as changeable
    for name, changes in orders.items():
        wake("name", name)
        found = [thing for thing in _all if thing.name == name]
        if not found:
            raise ValueError("no such device: " + name)
        for attribute, value in changes.items():
            if attribute not in found[0].changeable:
                raise ValueError(name + " has no " + attribute)
            setattr(found[0], attribute, value)
