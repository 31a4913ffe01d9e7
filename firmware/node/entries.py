# The entries of a configuration, judged before anything is made of them.
#
# Whoever sends one may be mistaken or hostile: nothing passes that the board's pins cannot do, that
# asks for more than the limits allow, or whose limits this firmware does not know.

import json

from micropython import const
from node import kinds
from node.outputs import LEASE_LONGEST_MS
from node.wiring import Unfit, is_pin, is_shadowed, pins_of

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
# What any entry may have besides the options of its kind
_EVERYWHERE = ("name", "kind", "pin", "active_low", "aliases", "about", "unit", "safety")
_OUTPUTS_OWN = ("safe", "lease_ms", "max_on_ms", "min_off_ms", "per_minute", "needs", "floating")
_INPUTS_OWN = ("pull", "debounce_ms")
# A device judges its own
_OWN = {kinds.OUTPUT: _OUTPUTS_OWN, kinds.INPUT: _INPUTS_OWN, kinds.ANALOG: ()}
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
        raise Unfit("the configuration is of a version that this firmware does not know")
    entries = said["pins"]
    if len(entries) + len(board.PINS) > PINS_MOST:
        raise Unfit("more than %d pins, the board's own included" % PINS_MOST)
    names = [_named(entry) for entry in entries]
    for at in range(len(entries)):
        trouble = _trouble(entries[at], board.USABLE, entries[:at])
        if names.count(names[at]) > 1:
            trouble = "two entries have that name"
        if trouble:
            raise Unfit("%s: %s" % (names[at], trouble))
    _require_needed(entries, board, names)
    return entries


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


def _trouble(entry, usable, before):
    # What is wrong with the entry, empty when nothing is; `before` are those before it
    kind = entry.get("kind")
    if type(kind) is not str or not kinds.needs(kind):
        return "no such kind"
    if not is_pin(entry.get("pin")):
        return "it names no pin"
    for option, value in entry.items():
        if is_pin(value):
            need = kinds.needs(kind) if option == "pin" else "gpio"
            if " %s " % value not in usable[need]:
                return value + " cannot be used for that"
            if pins_of(entry).count(value) > 1 or _is_taken(value, kind, before):
                return value + " is used twice"
    return _trouble_of_options(entry, kind)


def _is_taken(pin, kind, before):
    # The lines of a bus may be shared, but only by what is made for it
    for other in before:
        if pin in pins_of(other):
            return kind not in kinds.BUS_KINDS or other["kind"] not in kinds.BUS_KINDS
    return False


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
    own = _OWN.get(kind)
    if own is not None:
        for option in entry:
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
