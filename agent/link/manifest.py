"""Manifest of a board: methods with typed arguments, and pins with their names.

`read_manifest` is the edge: what a board sends is hostile until it has passed there. What does
not fit is left out with a line in the log; the rest of the board stays usable.
"""

import logging
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from agent.errors import WrongDevice
from agent.text.printable import printable_line

MANIFEST_VERSION = 1
# Ids below this one belong to the link itself
FIRST_METHOD_ID = 16
# Pins are bits of the 32-bit masks of the wire format
MAX_PINS = 32
# Every method becomes a tool that a model has to read about
MAX_METHODS = 48
MAX_FIELDS = 8
MAX_CHOICES = 32
MAX_ALIASES = 24
# Longest texts: what a tool's description, a name and a unit need
MAX_ABOUT_CHARS = 200
MAX_NAME_CHARS = 32
MAX_UNIT_CHARS = 8

# The whole range of each `struct` code that a value may have
INTEGER_RANGES = {
    "b": (-(2**7), 2**7 - 1),
    "B": (0, 2**8 - 1),
    "?": (0, 1),
    "h": (-(2**15), 2**15 - 1),
    "H": (0, 2**16 - 1),
    "i": (-(2**31), 2**31 - 1),
    "I": (0, 2**32 - 1),
    "l": (-(2**31), 2**31 - 1),
    "L": (0, 2**32 - 1),
    "q": (-(2**63), 2**63 - 1),
    "Q": (0, 2**64 - 1),
}
FLOAT_FORMATS = frozenset("fd")
# Not a code of one value: u8 length, then so many bytes
BYTES_FORMAT = "s"
# With its length and the rest of a call it must fit one frame
MAX_BYTES = 200

_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
_SAFETY_CLASSES = frozenset({"read", "actuate", "hazard"})

_log = logging.getLogger(__name__)


class Field(msgspec.Struct, frozen=True):
    """One argument or one part of a result.

    `format` is a `struct` code of one value, or `s` for bytes, of which `maximum` says how many.
    """

    name: str
    format: str
    # The value is the index of a pin with this capability
    pins: str = ""
    # The value is a position in this list
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    unit: str = ""
    # Value on the wire times scale is the value in the unit
    scale: float = 1.0
    # Bytes are shown as text, with escapes for what cannot be printed; otherwise in hex
    text: bool = False
    # The last fields of a result may be left out by a device that does not measure them
    optional: bool = False


class Method(msgspec.Struct, frozen=True):
    """Something the board can do; `safety` is read, actuate or hazard."""

    id: int
    name: str
    about: str
    arguments: tuple[Field, ...] = ()
    result: tuple[Field, ...] = ()
    safety: str = "hazard"
    idempotent: bool = False
    lease: bool = False


class BoardPin(msgspec.Struct, frozen=True):
    """A pin by the name that people use; values are logical, 1 is on."""

    index: int
    name: str
    pin: str
    aliases: tuple[str, ...] = ()
    can: tuple[str, ...] = ()
    active_low: bool = False
    safe: int = 0
    lease_ms: int = 2000
    # Limits of a configured output; 0 is none
    max_on_ms: int = 0
    min_off_ms: int = 0
    per_minute: int = 0
    # It may be on only while each of these pins has this value
    needs: tuple[tuple[str, int], ...] = ()
    safety: str = "actuate"
    # Where it is, what it is called with others, at which value it is open: for people alone
    place: str = ""
    groups: tuple[str, ...] = ()
    opens: str = "on"


class Manifest(msgspec.Struct, frozen=True):
    """The board's description of itself; unknown keys of newer firmware are ignored."""

    manifest: int
    board: str
    methods: tuple[Method, ...] = ()
    pins: tuple[BoardPin, ...] = ()

    def method(self, name: str) -> Method | None:
        return next((method for method in self.methods if method.name == name), None)

    def bit_of(self, pin: str) -> int:
        """Its place in the wire format's masks; nothing where there is no such pin."""
        return sum(1 << one.index for one in self.pins if one.name == pin)

    def named(self, bits: int) -> list[str]:
        """Return the names of the pins in a mask of the wire format."""
        return [pin.name for pin in self.pins if bits & 1 << pin.index]

    def pins_that_can(self, capability: str) -> Sequence[BoardPin]:
        return [pin for pin in self.pins if capability in pin.can]


class _Envelope(msgspec.Struct, frozen=True):
    """The outermost table; each entry is judged by itself."""

    manifest: int
    board: str
    methods: tuple[msgspec.Raw, ...] = ()
    pins: tuple[msgspec.Raw, ...] = ()


def read_manifest(raw: bytes) -> Manifest:
    """A manifest whose every name, number and text is fit for use.

    Raises:
        WrongDevice: it is not a manifest that this version understands.
    """
    try:
        envelope = msgspec.json.decode(raw, type=_Envelope)
    except (msgspec.DecodeError, UnicodeError) as err:
        raise WrongDevice("cannot read the board's manifest") from err
    if envelope.manifest != MANIFEST_VERSION:
        raise WrongDevice(
            f"the board's manifest has version {envelope.manifest}, and this agent knows "
            f"only version {MANIFEST_VERSION}: update the agent"
        )
    pins = _distinct(_entries(envelope.pins, BoardPin, clean_pin), lambda pin: pin.index)
    methods = _distinct(_entries(envelope.methods, Method, _clean_method), lambda one: one.id)
    return Manifest(
        manifest=MANIFEST_VERSION,
        board=printable_line(envelope.board, MAX_NAME_CHARS),
        methods=methods[:MAX_METHODS],
        pins=pins[:MAX_PINS],
    )


class _Unfit(ValueError):
    """An entry that is left out; the text says why."""


T = TypeVar("T", BoardPin, Method)


def _entries(raws: Iterable[msgspec.Raw], kind: type[T], clean: Callable[[T], T]) -> Iterable[T]:
    for raw in raws:
        try:
            yield clean(msgspec.json.decode(raw, type=kind))
        except (msgspec.DecodeError, UnicodeError, _Unfit) as err:
            reason = printable_line(str(err), MAX_ABOUT_CHARS)
            _log.warning(
                "link: part of the manifest ignored (kind=%s, reason=%s)",
                kind.__name__.lower(),
                reason,
            )


def _distinct(entries: Iterable[T], number: Callable[[T], int]) -> tuple[T, ...]:
    """Without those whose name or number came before."""
    kept: dict[int, T] = {}
    names: set[str] = set()
    for entry in entries:
        if entry.name not in names and number(entry) not in kept:
            names.add(entry.name)
            kept[number(entry)] = entry
    return tuple(kept.values())


def clean_pin(pin: BoardPin) -> BoardPin:
    """The pin with its texts cleaned and capped.

    Raises:
        ValueError: its name or its index is none.
    """
    _require_name(pin.name)
    if not 0 <= pin.index < MAX_PINS:
        raise _Unfit(f"pin {pin.name} has index {pin.index}")
    return msgspec.structs.replace(
        pin,
        pin=printable_line(pin.pin, MAX_NAME_CHARS),
        aliases=_labels(pin.aliases, MAX_ALIASES),
        can=_labels(pin.can, MAX_ALIASES),
        place=printable_line(pin.place, MAX_NAME_CHARS).strip(),
        groups=_labels(pin.groups, MAX_ALIASES),
        opens="off" if pin.opens == "off" else "on",
    )


def _clean_method(method: Method) -> Method:
    _require_name(method.name)
    if not FIRST_METHOD_ID <= method.id < 2**8:
        raise _Unfit(f"method {method.name} has id {method.id}")
    if max(len(method.arguments), len(method.result)) > MAX_FIELDS:
        raise _Unfit(f"method {method.name} has too many fields")
    return msgspec.structs.replace(
        method,
        about=printable_line(method.about, MAX_ABOUT_CHARS),
        arguments=_clean_fields(method.arguments),
        result=_clean_fields(method.result),
        # What a newer board calls otherwise is treated as the worst we know
        safety=method.safety if method.safety in _SAFETY_CLASSES else "hazard",
    )


def _clean_fields(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    cleaned = tuple(_clean_field(field) for field in fields)
    if len({field.name for field in cleaned}) < len(cleaned):
        raise _Unfit("two of its fields have the same name")
    return cleaned


def _clean_field(field: Field) -> Field:
    _require_name(field.name)
    if field.format not in {*INTEGER_RANGES, *FLOAT_FORMATS, BYTES_FORMAT}:
        raise _Unfit(f"field {field.name} has an unknown format")
    if (field.pins or field.choices) and field.format not in INTEGER_RANGES:
        raise _Unfit(f"field {field.name} has pins or choices, but is no integer")
    _require_range(field)
    return msgspec.structs.replace(
        field,
        pins=printable_line(field.pins, MAX_NAME_CHARS),
        choices=_clean_choices(field),
        unit=printable_line(field.unit, MAX_UNIT_CHARS),
    )


def _clean_choices(field: Field) -> tuple[str, ...]:
    choices = tuple(printable_line(choice, MAX_NAME_CHARS).strip() for choice in field.choices)
    if len(choices) > MAX_CHOICES or len(set(choices)) < len(choices) or "" in choices:
        raise _Unfit(f"field {field.name} has choices with equal names")
    return choices


def _require_range(field: Field) -> None:
    bounds = [bound for bound in (field.minimum, field.maximum) if bound is not None]
    if not all(map(math.isfinite, [*bounds, field.scale])) or field.scale <= 0:
        raise _Unfit(f"field {field.name} has no usable range")
    if bounds != sorted(bounds):
        raise _Unfit(f"field {field.name} has its limits reversed")


def _require_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise _Unfit(f"{printable_line(name, MAX_NAME_CHARS)!r} is not a valid name")


def _labels(texts: tuple[str, ...], limit: int) -> tuple[str, ...]:
    labels = (printable_line(text, MAX_NAME_CHARS).strip() for text in texts[:limit])
    return tuple(label for label in labels if label)
