# What is attached to the simulated board: sensors, servos, memories, by the pin they hang on.
#
# Every kind is a module in attached/ with a class Thing. A thing has a `name`, the `pin` by which
# it is found, `quantities` (the names of what it measures), `changeable` (what an order may set),
# tick(now_ms), and the calls of its kind.

_KINDS = ("bme280", "dht22", "ds18b20", "eeprom", "flow", "serial", "servo", "spi_echo")

_all = []


def load(entries):
    for entry in entries:
        settings = dict(entry)
        kind = settings.pop("kind")
        if kind not in _KINDS:
            raise ValueError("no such device: " + str(kind))
        settings.setdefault("name", kind)
        module = __import__("attached." + kind, None, None, ("Thing",))
        _all.append(module.Thing(**settings))


def at(pin, call):
    # The thing on that pin that knows the call, None when nothing there does
    for thing in _all:
        if thing.pin == pin and hasattr(thing, call):
            return thing
    return None


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
    return [name for thing in _all for name in thing.quantities]


def tick(now_ms):
    for thing in _all:
        thing.tick(now_ms)


def change(orders):
    # {"name": {"attribute": value}}: only what a thing lists as changeable
    for name, changes in orders.items():
        found = [thing for thing in _all if thing.name == name]
        if not found:
            raise ValueError("no such device: " + name)
        for attribute, value in changes.items():
            if attribute not in found[0].changeable:
                raise ValueError(name + " has no " + attribute)
            setattr(found[0], attribute, value)
