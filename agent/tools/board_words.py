"""Origin of a board's words: our firmware, the owner, or the board itself.

A board whose names and texts are all in the tables below has its tools described in our words; a
test compares the tables with the firmware. Any other word (name, unit, choice, refusal) is the
board's own and is trusted as a sensor is.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from agent.errors import CallRefused
from agent.link.base import Board
from agent.link.devices import device_table
from agent.link.manifest import BoardPin, Manifest, Method
from agent.passage import Fact, Passage, Provenance, configured, lowest, outside, own

# Boards, their pins and what these are called
_BOARD_WORDS = frozenset(
    {
        "a0",
        "a1",
        "a2",
        "a3",
        "a4",
        "a5",
        "b0",
        "b1",
        "b10",
        "b12",
        "b13",
        "b14",
        "b15",
        "b5",
        "blue button",
        "blue led",
        "brightness",
        "button",
        "button 1",
        "button 2",
        "button 3",
        "button_2",
        "button_3",
        "d0",
        "d1",
        "d10",
        "d13",
        "d14",
        "d15",
        "d2",
        "d3",
        "d4",
        "d5",
        "d6",
        "d7",
        "d8",
        "d9",
        "fan",
        "green led",
        "green_led",
        "key",
        "lamp",
        "ld1",
        "ld2",
        "ld3",
        "led",
        "light",
        "moisture",
        "nucleo-f401re",
        "nucleo-f411re",
        "nucleo-f446re",
        "nucleo-h743zi",
        "nucleo-wb55",
        "pump",
        "pyboard-v1.1",
        "red led",
        "red_led",
        "relay",
        "simulated",
        "soil",
        "soil moisture",
        "sw1",
        "sw2",
        "sw3",
        "switch",
        "user button",
        "usr",
        "water pump",
        "weact-blackpill-f411",
        "x1",
        "x19",
        "x2",
        "x20",
        "x21",
        "x22",
        "x3",
        "x4",
        "y1",
        "y11",
        "y12",
        "y2",
        "y3",
        "y4",
        "yellow led",
        "yellow_led",
    }
)
# What is said about each method
ABOUTS = frozenset(method.about for method in device_table.methods())
# Refusals of what is not the driver of one kind
_COMMON_REFUSALS = frozenset(
    {
        "a condition is about a pin without a value",
        "a pin is off or on",
        "an output is on",
        "arguments missing",
        "beyond the length that was announced",
        "change, periodic or threshold",
        "erasing",
        "its firmware is frozen in: a whole image",
        "its flash cannot keep two versions: scripts/flash",
        "its flash has changed",
        "no room for a second version: use scripts/flash",
        "no rule can set that output",
        "no such action",
        "no such subscription",
        "no such subscription, queue or limits",
        "not all of it has arrived",
        "not what was announced: begin again",
        "nothing was begun",
        "offset beyond the configuration",
        "offset beyond the manifest",
        "stopped: nothing is sent",
        "that firmware is for another board",
        "that pin cannot be read",
        "that pin cannot measure",
        "that pin has no value to tell",
        "that pin has nothing behind it for this",
        "that pin is not an output",
        "the first measurement is under way",
        "the flash did not take it",
        "the link has been silent",
        "the output has no such value",
        "the safe value needs no duration",
        "there is no other version to go back to",
        "there is no room for another reflex",
        "there is no such action",
        "there is no such reflex",
        "this board has no such method",
        "this version is on trial itself",
        "too little memory is left",
        "what was written is not what was sent",
    }
)
# How it refuses
REFUSALS = _COMMON_REFUSALS.union(*(row.refusals for row in device_table.ROWS))
# How a limit of an output is told, behind the name of its pin
_LIMITS = re.compile(
    r"must rest [0-9.]{1,10} s more \(min_off_ms [0-9]{1,10}\)"
    r"|too often: wait [0-9.]{1,10} s \(per_minute [0-9]{1,6}\)"
)
_INTERLOCK = re.compile(r"needs (\w{1,32}) (?:on|off)")
# A pin of the microcontroller, what a board that describes itself calls its pins, and the version
# of a firmware
_SHAPES = re.compile(r"P[A-K][0-9]{1,2}|[adxy][0-9]{1,2}|led[2-4]|[0-9]{1,3}(\.[0-9]{1,4}){0,3}|")


def _method_words() -> Iterator[str]:
    for method in device_table.methods():
        yield method.name
        for field in (*method.arguments, *method.result):
            yield from (one for one in (field.name, field.pins, field.unit) if one)
            yield from field.choices


# With these, methods, their fields, choices and units
NAMES = _BOARD_WORDS | frozenset(_method_words())


def is_ours(text: str, named: Collection[str] = ()) -> bool:
    """Say if a board's text is one of our firmware's, or a name that the owner has given."""
    return text in NAMES or text in ABOUTS or text in named or bool(_SHAPES.fullmatch(text))


def is_our_refusal(text: str, named: Collection[str] = ()) -> bool:
    """Say if our firmware refuses in these words; the name of a pin may stand before them."""
    if text in REFUSALS:
        return True
    name, _, rest = text.partition(" ")
    if not is_ours(name, named):
        return False
    interlock = _INTERLOCK.fullmatch(rest)
    is_interlock = interlock is not None and is_ours(interlock[1], named)
    return is_interlock or bool(_LIMITS.fullmatch(rest))


def limits_of(pin: BoardPin) -> dict[str, object]:
    """Return the owner's limits for a pin, in the words of the configuration."""
    limits = {
        "danger": "hazard" if pin.safety == "hazard" else "",
        "max_on_s": pin.max_on_ms / 1000,
        "min_off_s": pin.min_off_ms / 1000,
        "max_per_minute": pin.per_minute,
        "only_while": {name: "on" if value else "off" for name, value in pin.needs},
    }
    return {name: limit for name, limit in limits.items() if limit}


def limits_in_words(limits: Mapping[str, object], named: Sequence[Passage]) -> dict[str, Fact]:
    """Return the limits for a model, trusted as little as the pin names in them."""
    least = lowest(named)
    plain = {name: limit for name, limit in limits.items() if isinstance(limit, float | int)}
    told: dict[str, Fact] = {**plain}
    if "danger" in limits:
        told["danger"] = own("hazard")
    while_on = limits.get("only_while")
    if isinstance(while_on, dict):
        told["only_while"] = {
            name: configured(value).below(least.provenance, least.source)
            for name, value in while_on.items()
        }
    return told


def is_own_word(text: str, named: Collection[str] = ()) -> bool:
    """Return true if our firmware or the owner chose this text."""
    return is_ours(text, named)


def word_of(board: Board, text: str, named: Collection[str]) -> Passage:
    """Return a name or short text of a board with its trust."""
    if is_own_word(text, named):
        return configured(text)
    return outside(text, Provenance.SENSOR, f"board:{board.name}")


def refusal_of(err: CallRefused, named: Collection[str], source: str) -> Passage:
    """Return the reason of a board's refusal, in our words where we know it."""
    if not err.detail:
        # A name of the wire format
        return configured(err.code.replace("_", " "))

    if err.is_vouched_for or is_our_refusal(err.detail, named):
        return configured(err.detail)
    return outside(err.detail, Provenance.SENSOR, source)


def description_of(
    board: Board, manifest: Manifest, method: Method, named: Collection[str]
) -> Passage:
    """Describe a method in our firmware's words; for other firmware only name it.

    Its trust is that of everything that the schema shows: names, choices, units and aliases.
    """
    words = [method.name, *_texts_of(manifest, method)]
    shown = [word_of(board, text, named) for text in words]
    name = shown[0]
    about = configured(method.about) if is_own_word(method.about) and method.about else None
    least = lowest(shown)
    said = about or own("{} of the board", name)
    return said.below(least.provenance, least.source)


def _texts_of(manifest: Manifest, method: Method) -> Iterator[str]:
    for field in method.arguments:
        yield from (field.name, field.unit, *field.choices)
        for pin in manifest.pins_that_can(field.pins) if field.pins else ():
            yield from (pin.name, *pin.aliases, *filter(None, (pin.place, *pin.groups)))
