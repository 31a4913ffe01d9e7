# The entries of a configuration, judged before anything is made of them.
#
# Whoever sends one may be mistaken or hostile: nothing passes that the board's pins cannot do, that
# asks for more than the limits allow, or whose limits this firmware does not know.

import json

from micropython import const
from node import kinds
from node.outputs import LEASE_LONGEST_MS

VERSION = const(1)
# The bit masks of leases are small integers up to this many pins, the board's own included
PINS_MOST = 30
_NAME_LONGEST = const(32)
_NEEDS_MOST = const(4)
_LEASE_LEAST_MS = const(50)
# Shorter is nothing that the loop could end in time
_ON_LEAST_MS = const(100)
_DAY_MS = const(86_400_000)
_PER_MINUTE_MOST = const(60)
_PULLS = ("", "up", "down")
_SAFETY = ("actuate", "hazard")
# What any entry may have besides the options of its kind
_EVERYWHERE = ("name", "kind", "pin", "active_low", "aliases", "about", "unit", "safety")
_OUTPUTS_OWN = ("safe", "lease_ms", "max_on_ms", "min_off_ms", "per_minute", "needs", "floating")
_INPUTS_OWN = ("pull", "debounce_ms")
_RANGES = {
    "lease_ms": (_LEASE_LEAST_MS, LEASE_LONGEST_MS),
    "max_on_ms": (_ON_LEAST_MS, _DAY_MS),
    "min_off_ms": (0, _DAY_MS),
    "per_minute": (1, _PER_MINUTE_MOST),
}


class Unfit(Exception):
    # The configuration is refused; the text names the entry and what is wrong with it.
    pass


def read(text, board):
    # The entries of that text. Raises Unfit.
    try:
        said = json.loads(text)
    except ValueError:
        raise Unfit("the configuration is not JSON")  # noqa: B904  - MicroPython keeps no causes
    if type(said) is not dict or said.get("v") != VERSION or type(said.get("pins")) is not list:
        raise Unfit("the configuration is of a version that this firmware does not know")
    entries = said["pins"]
    if len(entries) + len(board.PINS) > PINS_MOST:
        raise Unfit("more than %d pins, the board's own included" % PINS_MOST)
    names = []
    taken = {}
    for entry in entries:
        name = _named(entry)
        if name in names:
            raise Unfit(name + ": two entries have that name")
        names.append(name)
        trouble = _trouble(entry, board.USABLE, taken)
        if trouble:
            raise Unfit("%s: %s" % (name, trouble))
    _require_needed(entries, board, names)
    return entries


def is_shadowed(row, entries):
    # Whether one of the entries has the name or the pin of that row of the board file
    return any(entry["name"] == row["name"] or row["pin"] in pins_of(entry) for entry in entries)


def pins_of(entry):
    # Every pin of the MCU that it names, under whatever option
    return [value for value in entry.values() if _is_pin(value)]


def _named(entry):
    name = entry.get("name") if type(entry) is dict else None
    if type(name) is not str or not 0 < len(name) <= _NAME_LONGEST or not "a" <= name[0] <= "z":
        raise Unfit("an entry has no proper name")
    for letter in name:
        if not ("a" <= letter <= "z" or "0" <= letter <= "9" or letter == "_"):
            raise Unfit("an entry has no proper name")
    return name


def _trouble(entry, usable, taken):
    # What is wrong with the entry, empty when nothing is. `taken` gains its pins.
    kind = entry.get("kind")
    if type(kind) is not str or not kinds.needs(kind):
        return "no such kind"
    for option, value in entry.items():
        if _is_pin(value):
            need = kinds.needs(kind) if option == "pin" else "gpio"
            if need not in usable.get(value, ""):
                return "%s cannot be used for that" % value
            if taken.get(value, kind) not in kinds.BUS_KINDS and value in taken:
                return "%s is used twice" % value
            if value in taken and kind not in kinds.BUS_KINDS:
                return "%s is used twice" % value
            taken[value] = kind
    if not _is_pin(entry.get("pin")):
        return "it names no pin"
    return _trouble_of_options(entry, kind)


def _trouble_of_options(entry, kind):
    if type(entry.get("active_low", False)) is not bool:
        return "active_low is true or false"
    if entry.get("pull", "") not in _PULLS or entry.get("safety", "actuate") not in _SAFETY:
        return "pull is up or down, safety is actuate or hazard"
    for option, limits in _RANGES.items():
        value = entry.get(option, limits[1])
        if type(value) is not int or not limits[0] <= value <= limits[1]:
            return "%s is %d to %d" % (option, limits[0], limits[1])
    safe = entry.get("safe", 0)
    if kind == kinds.OUTPUT and (type(safe) is not int or safe not in (0, 1)):
        return "safe is 0 or 1"
    own = {kinds.OUTPUT: _OUTPUTS_OWN, kinds.INPUT: _INPUTS_OWN, kinds.ANALOG: ()}.get(kind)
    for option in entry if own is not None else ():
        if option not in _EVERYWHERE and option not in own:
            return "unknown option " + option
    return ""


def _require_needed(entries, board, names):
    # Interlocks name other pins, and a value that these can have
    known = names + [row["name"] for row in board.PINS if not is_shadowed(row, entries)]
    for entry in entries:
        needs = entry.get("needs", [])
        if type(needs) is not list or len(needs) > _NEEDS_MOST:
            raise Unfit("%s: needs is a list of at most %d" % (entry["name"], _NEEDS_MOST))
        for need in needs:
            sound = type(need) is list and len(need) == 2 and type(need[1]) is int
            if not sound or need[0] not in known or need[0] == entry["name"]:
                raise Unfit(entry["name"] + ": needs is [[another pin, 0 or 1]]")


def _is_pin(value):
    # "PB12" is one, whether or not this board has it
    if type(value) is not str or not 3 <= len(value) <= 4 or value[0] != "P":
        return False
    return "A" <= value[1] <= "K" and value[2:].isdigit()
