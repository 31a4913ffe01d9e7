# The entries of a configuration, judged before anything is made of them.
#
# Whoever sends one may be mistaken or hostile: nothing passes that the board's pins cannot do, that
# asks for more than the limits allow, or whose limits this firmware does not know.

import json

import kinds
from micropython import const
from node.outputs import LEASE_LONGEST_MS
from node.pins import Unfit
from node.wiring import is_pin, is_shadowed

VERSION = const(1)
# The bit masks of leases are small integers up to this many pins, the board's own included
PINS_MOST = 30
_NAME_LONGEST = const(32)
_A, _Z, _0, _9, _UNDERSCORE = b"az09_"
_NEEDS_MOST = const(4)
_LEASE_LEAST_MS = const(50)
# Shorter is nothing that the loop could end in time
_ON_LEAST_MS = const(100)
_DAY_MS = const(86_400_000)
_PER_MINUTE_MOST = const(60)
# An interlock is noticed so much later
_DEBOUNCE_MOST_MS = const(1_000)
_PULLS = ("", "up", "down")
_SAFETY = ("actuate", "hazard")
# What any entry may have besides the options of its kind, and what any output may have
_EVERYWHERE = ("name", "kind", "pin", "active_low", "aliases", "about", "unit", "safety")
_OF_OUTPUTS = ("lease_ms", "max_on_ms", "min_off_ms", "per_minute", "needs")
# The words of a row, as firmware/host/kind_source.py puts them
_USE = const(1)
_FLAGS = const(2)
_CAN = const(3)
# Those that were asked for: taken apart once, for the entries of one configuration
_ROWS: dict = {}
# Lines of one sort of bus may be shared: I2C, 1-Wire
_SHARED = ("s", "w")
_OWN = const(4)
_RANGES = {
    "lease_ms": (_LEASE_LEAST_MS, LEASE_LONGEST_MS),
    "max_on_ms": (_ON_LEAST_MS, _DAY_MS),
    "min_off_ms": (0, _DAY_MS),
    "per_minute": (1, _PER_MINUTE_MOST),
    "debounce_ms": (0, _DEBOUNCE_MOST_MS),
}


def read(text, board):
    # The entries of that text. Raises Unfit.
    try:
        said = json.loads(text)
    except ValueError:
        raise Unfit("the configuration is not JSON")  # noqa: B904  - MicroPython keeps no causes
    if type(said) is not dict or said.get("v") != VERSION or type(said.get("pins")) is not list:
        raise Unfit("the configuration is of an unknown version")
    entries = said["pins"]
    if len(entries) + len(board.PINS) > PINS_MOST:
        raise Unfit("more than %d pins, the board's own included" % PINS_MOST)
    names = [_named(entry) for entry in entries]
    for at in range(len(entries)):
        trouble = _trouble(entries[at], entries[:at])
        if names.count(names[at]) > 1:
            trouble = "two entries have that name"
        if trouble:
            raise Unfit("%s: %s" % (names[at], trouble))
    _require_needed(entries, board, names)
    return entries


def complete(entries):
    # With what their rows say where they say nothing, and what a plain pin can do
    abilities: dict = {}
    for entry in entries:
        row = _row(entry["kind"])
        can = row[_CAN]
        if can != "-":
            # One object for all of a kind
            entry["can"] = abilities.setdefault(can, tuple(can.split(",")))
            continue
        for option in row[_OWN:]:
            if len(option) == 4:
                entry.setdefault(option[0], int(option[3]))
    return entries


def _row(kind):
    # The words of its row, options in their parts; None when there is none
    if type(kind) is not str:
        return None
    if kind not in _ROWS:
        at = kinds.ROWS.find("\n%s " % kind) + 1
        row = kinds.ROWS[at : kinds.ROWS.find("\n", at)].split(" ")
        if row[0] != kind:
            return None
        # In its place: a second list would lie between what stays
        row[_OWN:] = [word.split(":") for word in row[_OWN:]]  # type: ignore[misc]
        _ROWS[kind] = row
    return _ROWS[kind]


def _named(entry):
    name = entry.get("name") if type(entry) is dict else None
    if type(name) is not str or not _is_proper(name.encode()):
        raise Unfit("an entry has no proper name")
    return name


def _is_proper(name):
    # Of bytes: MicroPython keeps every single letter of a str for ever
    if not 0 < len(name) <= _NAME_LONGEST or not _A <= name[0] <= _Z:
        return False
    return all(_A <= code <= _Z or _0 <= code <= _9 or code == _UNDERSCORE for code in name)


def _trouble(entry, before):
    # What is wrong with the entry, empty when nothing is; `before` are those before it
    row = _row(entry.get("kind"))
    if row is None:
        return "no such kind"
    if not is_pin(entry.get("pin")):
        return "it names no pin"
    for option, value in entry.items():
        if is_pin(value):
            need = row[_USE] if option == "pin" else "gpio"
            if " %s " % value not in kinds.USABLE[need]:
                return value + " cannot be used for that"
            if list(entry.values()).count(value) > 1 or _is_taken(value, row, before):
                return value + " is used twice"
    return _trouble_of_options(entry) or _trouble_of_own(entry, row)


def _is_taken(pin, row, before):
    # The lines of a bus may be shared, but only by what is made for it
    for other in before:
        if pin in other.values():
            flags = _row(other["kind"])[_FLAGS]
            return not any(sort in row[_FLAGS] and sort in flags for sort in _SHARED)
    return False


def _trouble_of_options(entry):
    # Of those that are judged alike for every kind
    if type(entry.get("active_low", False)) is not bool:
        return "active_low is true or false"
    if entry.get("pull", "") not in _PULLS or entry.get("safety", "actuate") not in _SAFETY:
        return "pull is up or down, safety is actuate or hazard"
    for option, limits in _RANGES.items():
        value = entry.get(option, limits[1])
        if type(value) is not int or not limits[0] <= value <= limits[1]:
            return "%s is %d to %d" % (option, limits[0], limits[1])
    return ""


def _trouble_of_own(entry, row):
    # A limit that is misspelt would be no limit
    known = list(_EVERYWHERE)
    if "o" in row[_FLAGS]:
        known.extend(_OF_OUTPUTS)
    for option in row[_OWN:]:
        known.append(option[0].rstrip("@?"))
        trouble = _trouble_of(option, entry)
        if trouble:
            return trouble
    for option in entry:
        if option not in known:
            return "unknown option " + option
    return ""


def _trouble_of(option, entry):
    # Of an option as its row has it
    name = option[0]
    if name.endswith("@"):
        return _trouble_of_source(name[:-1], entry)
    is_line = len(option) == 2
    if name.endswith("?"):
        name = name[:-1]
        is_line = name in entry
    if is_line and not is_pin(entry.get(name)):
        return name + " names a pin of the microcontroller"
    if len(option) != 4 or name not in entry:
        return ""
    lowest, highest = int(option[1]), int(option[2])
    if type(entry[name]) is int and lowest <= entry[name] <= highest:
        return ""
    if (lowest, highest) == (0, 1):
        return name + " is 0 or 1"
    return "%s is a whole number, %d to %d" % (name, lowest, highest)


def _trouble_of_source(name, entry):
    # Whether there is one, and what it measures, is known once all of them are made
    said = entry.get(name)
    if type(said) is str and _is_proper(said.encode()) and said != entry["name"]:
        return ""
    return name + " names another entry"


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
