# The world around the simulated board: what its inputs see, and what its outputs did to it.
#
# The control line takes one JSON object per line: {"set": {...}}, {"stuck": {...}}, {"get": true},
# {"wire": {...}}, {"bounce": {...}}, {"freeze_ms": n}, {"spin_ms": n}, {"stop": true}. The record
# gets one for every change of a driven pin.

import gc
import json
import sys
import time

import interrupts
import rows
import things
import watchdog
import wires
from quantity import ORDINARY, Quantity

# More than any firmware has described
_METHODS = 80
_POWER_ON = 1
# A pressed button closes and opens so often, a millisecond or two apart, before it stays
_BOUNCES = 6
_FAR_MS = 1_000
# Longer than any pass: the firmware hung, or its process was stopped
_STALL_MS = 500


class _World:
    def __init__(self):
        self.quantities = {}
        self.script = []
        # Driven levels by pin, and pins whose level cannot be changed by driving
        self.driven = {}
        self.stuck = {}
        # Which output an input is connected to by a wire, by names
        self.joined = {}
        # Pins with pulses or pixels that are not as they are at their safe value
        self.active = set()
        # What to run when the level of a pin changes, and the level it had
        self.interrupts = {}
        self.levels = {}
        # How often the firmware ran each method; in memory that is taken once
        self.runs = [0] * _METHODS
        self.boot_count = 1
        self.reset_cause = _POWER_ON
        self.began_ms = time.ticks_ms()
        self.watchdog_ms = 0
        self.fed_ms = 0
        self.records_every_pin = False
        self.on_pass = None
        self.stopping = False
        self.ready = False


_world = _World()


def load(settings, boot_count, reset_cause):
    # `reset_cause` is the one of this start; 0 for what the settings say
    _world.boot_count = boot_count
    _world.reset_cause = reset_cause or settings.get("reset_cause", _POWER_ON)
    ORDINARY.update(settings.get("ordinary", {}))
    things.load(settings.get("devices", ()))
    _set(settings.get("values", {}))
    _world.script = sorted(settings.get("script", ()), key=lambda step: step["at_s"])
    for step in _world.script:
        # Refused now rather than in the middle of the play
        float(step["at_s"])
        _quantities(step["set"])
    record({"event": "boot", "count": boot_count})


def boot_count():
    return _world.boot_count


def reset_cause():
    return _world.reset_cause


def rewire(entries):
    # The firmware is about to use these pins by these names
    rows.replace(entries)


def is_stopping():
    return _world.stopping


def level(pin, driven, idle):
    # What an input sees: a shorted wire, else what drives it, else what was set, else the pull
    row = rows.of_pin(pin)
    inverted = 1 if row.get("active_low", False) else 0
    if row["name"] in _world.stuck:
        return _world.stuck[row["name"]] ^ inverted
    if driven is not None:
        return driven
    far = _world.joined.get(row["name"])
    if far in rows.BY_NAME and rows.BY_NAME[far]["pin"] in _world.driven:
        return _world.driven[rows.BY_NAME[far]["pin"]]
    found = _quantity_at(pin)
    if found is not None:
        return (1 if found.now() else 0) ^ inverted
    return idle


def analog(pin):
    found = _quantity_at(pin)
    return found.now() if found else 0.0


def temperature():
    return quantity("temperature")


def record_fault(fault):
    record({"event": "interrupt_fault", "what": type(fault).__name__})


def record_pin(pin, level):
    _world.driven[pin] = level
    row = rows.of_pin(pin)
    if _world.records_every_pin or rows.is_output(row):
        value = level ^ (1 if row.get("active_low", False) else 0)
        record({"event": "pin", "name": row["name"], "pin": pin, "level": level, "value": value})


def driven(pin):
    # The level to which the firmware drives that pin, None where it does not
    return _world.driven.get(pin)


def record_every_pin():
    # A board other than the simulated one: its configured pins have no names here
    _world.records_every_pin = True


def on_pass(function):
    # Called in every pass of the firmware
    _world.on_pass = function


def light(pin, value):
    # MicroPython's own hand on LED1, whatever the firmware has set there
    level = value ^ (1 if rows.of_pin(pin).get("active_low", False) else 0)
    record({"event": "flash_light", "pin": pin, "value": value})
    record_pin(pin, level)


def quantity(name):
    found = _world.quantities.get(name)
    return found.now() if found else ORDINARY.get(name, 0.0)


def is_on(name):
    row = rows.BY_NAME.get(name)
    if row is None:
        return False
    inverted = 1 if row.get("active_low", False) else 0
    driven = _world.driven.get(row["pin"], inverted) ^ inverted
    return bool(_world.stuck.get(name, driven))


def selected():
    return things.selected(_world.driven)


def record_pwm(pin, hz, duty, is_share):
    row = rows.of_pin(pin)
    percent = round(duty * 100, 1)
    # Pulses of a length are an angle: a servo may stay at its safe one
    _note_active(pin, is_share and percent != row.get("safe", 0))
    record({"event": "duty", "name": row["name"], "pin": pin, "hz": hz, "duty": percent})


def record_voltage(pin, volts):
    _note_active(pin, volts > 0)
    record(
        {"event": "voltage", "name": rows.of_pin(pin)["name"], "pin": pin, "volts": round(volts, 3)}
    )


def record_pixels(pin, colours):
    _note_active(pin, any(any(colour) for colour in colours))
    record({"event": "pixels", "name": rows.of_pin(pin)["name"], "pin": pin, "pixels": colours})


def edge(pin, level):
    # What a sensor does to its line
    handler = _world.interrupts.get(pin)
    if handler:
        _world.levels[pin] = level
        handler(level)


def interrupt(pin, handler, level):
    # As an edge would: `handler` runs in the middle of whatever the firmware does
    if handler is None:
        _world.interrupts.pop(pin, None)
    else:
        _world.interrupts[pin] = handler
        _world.levels[pin] = level


def play():
    # Every step of the script that is due
    passed_s = _passed_s()
    while _world.script and _world.script[0]["at_s"] <= passed_s:
        _set(_world.script.pop(0)["set"])


def until_next_step_ms():
    if not _world.script:
        return _FAR_MS
    return int((_world.script[0]["at_s"] - _passed_s()) * 1000) + 1


def count_run(method):
    if method < _METHODS:
        _world.runs[method] += 1


def watch(timeout_ms):
    _world.watchdog_ms = timeout_ms
    watchdog.watch(timeout_ms)
    _world.fed_ms = time.ticks_ms()


def is_watched():
    return _world.watchdog_ms > 0


def feed():
    # The firmware feeds once in every pass: here the world moves on
    now_ms = time.ticks_ms()
    gap_ms = time.ticks_diff(now_ms, _world.fed_ms)
    watchdog.feed()
    if gap_ms > _STALL_MS:
        record({"event": "stall", "late_ms": gap_ms})
    _world.fed_ms = now_ms
    if not _world.ready:
        _world.ready = True
        wires.reply(json.dumps({"ready": True}))
    play()
    things.tick(now_ms)
    if _world.on_pass:
        _world.on_pass()
    listen()
    if _world.stopping and _all_safe():
        record({"event": "stop"})
        sys.exit(0)


def listen():
    try:
        for line in wires.orders():
            try:
                answer = _obey(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError) as fault:
                answer = {"error": str(fault)}
            wires.reply(json.dumps(answer))
    except OSError:  # the host is gone and left something unread, or was not told something
        wires.vanish()


def _obey(order):
    for name, obey in _ORDERS:
        if name in order:
            obey(order[name])
    if "cut_power_after" in order:
        wires.operations_left = order["cut_power_after"]
    if "erase_ms" in order:
        wires.erase_ms = order["erase_ms"]
    if "stop" in order:
        _world.stopping = True
    if "get" in order:
        return _report()
    return {"ok": True}


def _set(values):
    _world.quantities.update(_quantities(values))
    for pin, handler in _world.interrupts.items():
        level_now = _input_level(pin)
        if level_now != _world.levels[pin]:
            _world.levels[pin] = level_now
            handler(level_now)


def _bounce(values):
    # What a contact does: back and forth, and then the value
    at_s = _passed_s()
    for step in range(_BOUNCES + 1):
        for name, value in values.items():
            shown = value if step % 2 == 0 else 1 - value
            _world.script.append({"at_s": at_s, "set": {name: shown}})
        at_s += 0.001 + 0.001 * (step % 2)
    _world.script.sort(key=lambda step: step["at_s"])


def _passed_s():
    return time.ticks_diff(time.ticks_ms(), _world.began_ms) / 1000


def _input_level(pin):
    found = _quantity_at(pin)
    if found is None:
        return _world.levels[pin]
    value = 1 if found.now() else 0
    return value ^ (1 if rows.of_pin(pin).get("active_low", False) else 0)


def _quantity_at(pin):
    # By the name of the pin, else by what the MCU calls it
    return _world.quantities.get(rows.of_pin(pin)["name"]) or _world.quantities.get(pin.lower())


def _note_active(pin, is_active):
    if is_active:
        _world.active.add(pin)
    else:
        _world.active.discard(pin)


def _is_known(name):
    if name in rows.BY_NAME or name in ORDINARY or name in things.quantities():
        return True
    return len(name) in (3, 4) and name[0] == "p" and name[2:].isdigit()


def _quantities(values):
    made = {}
    for name, value in values.items():
        if not _is_known(name):
            raise ValueError("no such pin: " + name)
        # A plain number stays where it is; an object may drift
        made[name] = Quantity(**value) if isinstance(value, dict) else Quantity(value)
        made[name].now()
    return made


def _join(ends):
    # An input at the other end of a wire from an output; None takes the wire away
    for name, output in ends.items():
        if name not in rows.BY_NAME or (output is not None and output not in rows.BY_NAME):
            raise ValueError("no such pin: " + name)
        _world.joined[name] = output


def _stick(values):
    for name, value in values.items():
        if name not in rows.BY_NAME:
            raise ValueError("no such pin: " + name)
        if value is None:
            _world.stuck.pop(name, None)
        else:
            _world.stuck[name] = 1 if value else 0


def _report():
    pins = {}
    for pin, driven in _world.driven.items():
        row = rows.of_pin(pin)
        if rows.is_output(row):
            pins[row["name"]] = driven ^ (1 if row.get("active_low", False) else 0)
    values = {name: quantity.now() for name, quantity in _world.quantities.items()}
    gc.collect()
    found = {"outputs": pins, "values": values, "runs": _world.runs, "heap_free": gc.mem_free()}
    found["flash_operations"] = wires.operations
    return found


def _all_safe():
    for pin, driven in _world.driven.items():
        row = rows.of_pin(pin)
        value = driven ^ (1 if row.get("active_low", False) else 0)
        if rows.is_output(row) and value != row.get("safe", 0):
            return False
    return not _world.active


def record(event):
    event["ms"] = time.ticks_ms()
    event["wall_s"] = time.time_ns() / 1_000_000_000
    wires.record(json.dumps(event))


# Done in this order when several come in one object
_ORDERS = (
    ("set", _set),
    ("stuck", _stick),
    ("wire", _join),
    ("bounce", _bounce),
    ("devices", things.change),
    ("freeze_ms", time.sleep_ms),
    ("spin_ms", interrupts.spin),
)
