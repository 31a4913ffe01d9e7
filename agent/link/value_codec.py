"""Typed values to bytes and back, by the formats of the manifest.

Limits are checked here too, so that a person hears at once why something cannot be; the board
checks them again and is the one that decides.
"""

import math
import re
import struct
from collections.abc import Mapping

from agent.errors import CallRefused
from agent.link.base import Value
from agent.link.manifest import (
    BYTES_FORMAT,
    FLOAT_FORMATS,
    INTEGER_RANGES,
    MAX_BYTES,
    BoardPin,
    Field,
    Manifest,
    Method,
)
from agent.passage import echo

_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_NAMED = {"n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\"}
_PRINTABLE = range(0x20, 0x7F)
# What separates bytes when people write them
_BETWEEN = re.compile(r"0x|[\s,:]+")


class CutOff(ValueError):
    """There are fewer bytes than there should be."""


def limit_of(field: Field) -> int:
    """The largest number of bytes that the field may have."""
    return MAX_BYTES if field.maximum is None else max(1, min(MAX_BYTES, int(field.maximum)))


def pack_octets(field: Field, value: Value) -> bytes:
    """The bytes as they go over the wire.

    Raises:
        CallRefused: they are not written as they should be, or too many.
    """
    data = _from_text(str(value)) if field.text else _from_hex(field, str(value))
    if not 1 <= len(data) <= limit_of(field):
        raise CallRefused(
            "out_of_range", echo(f"{field.name} must have 1 to {limit_of(field)} bytes")
        )
    return bytes([len(data)]) + data


def unpack_octets(field: Field, payload: bytes) -> tuple[str, int]:
    """Return the octets as text, and the number of payload bytes they took.

    Raises:
        CutOff: there are fewer than the length says.
    """
    if not payload or len(payload) < 1 + payload[0]:
        raise CutOff
    data = payload[1 : 1 + payload[0]]
    return (_as_text(data) if field.text else data.hex(" ")), 1 + len(data)


def _from_hex(field: Field, written: str) -> bytes:
    try:
        return bytes.fromhex(_BETWEEN.sub(" ", written))
    except ValueError as err:
        raise CallRefused(
            "bad_request", echo(f"{field.name} must be bytes in hex, such as 1f a0")
        ) from err


def _from_text(written: str) -> bytes:
    parts = bytearray()
    at = 0
    for escape in _ESCAPE.finditer(written):
        parts += written[at : escape.start()].encode(errors="replace")
        number, name = escape.groups()
        # What is no escape of ours means itself
        plain = escape.group().encode(errors="replace")
        parts += bytes([int(number, 16)]) if number else _NAMED.get(name, plain)
        at = escape.end()
    return bytes(parts + written[at:].encode(errors="replace"))


def _as_text(data: bytes) -> str:
    return "".join(_shown(byte) for byte in data)


def _shown(byte: int) -> str:
    if byte == ord("\\"):
        return "\\\\"
    for name, plain in _NAMED.items():
        if plain == bytes([byte]):
            return f"\\{name}"
    return chr(byte) if byte in _PRINTABLE else f"\\x{byte:02x}"


# Digits that survive a 32-bit float; more would be noise
_FLOAT_DIGITS = 7


class BadAnswer(ValueError):
    """Answer that does not fit the manifest."""


def range_of(field: Field) -> tuple[float | None, float | None]:
    """Smallest and largest value in the unit of the field."""
    low: float | None = field.minimum
    high: float | None = field.maximum
    if field.format in INTEGER_RANGES:
        bottom, top = INTEGER_RANGES[field.format]
        low = bottom * field.scale if low is None else max(low, bottom * field.scale)
        high = top * field.scale if high is None else min(high, top * field.scale)
    return low, high


def is_whole(field: Field) -> bool:
    """Return true if the field holds whole numbers of its unit."""
    return field.format in INTEGER_RANGES and float(field.scale).is_integer()


def pack(manifest: Manifest, method: Method, arguments: Mapping[str, Value]) -> bytes:
    """The arguments of a request.

    Raises:
        CallRefused: an argument is missing, unknown or out of range.
    """
    unknown = set(arguments) - {field.name for field in method.arguments}
    if unknown:
        raise CallRefused("bad_request", echo(f"{method.name} has no argument {min(unknown)}"))
    return b"".join(_pack_field(manifest, field, arguments) for field in method.arguments)


def unpack(manifest: Manifest, method: Method, payload: bytes) -> dict[str, Value]:
    """The result of a call; bytes after the last known field are a newer board's and ignored.

    Raises:
        BadAnswer: it is too short, or a value means nothing.
    """
    values: dict[str, Value] = {}
    at = 0
    for field in method.result:
        if field.optional and at == len(payload):
            break
        try:
            values[field.name], size = _unpack_field(manifest, field, payload[at:])
        except (struct.error, CutOff) as err:
            raise BadAnswer(f"the answer to {method.name} is too short") from err
        at += size
    return values


def pin_bits(manifest: Manifest, method: Method, arguments: Mapping[str, Value]) -> int:
    """The mask of the pins that a call names."""
    named = [arguments.get(field.name) for field in method.arguments if field.pins]
    return sum(1 << pin.index for pin in manifest.pins if pin.name in named)


def _pack_field(manifest: Manifest, field: Field, arguments: Mapping[str, Value]) -> bytes:
    if field.name not in arguments:
        raise CallRefused("bad_request", echo(f"{field.name} is missing"))
    if field.format == BYTES_FORMAT:
        return pack_octets(field, arguments[field.name])
    number = _number_of(manifest, field, arguments[field.name])
    try:
        return struct.pack("<" + field.format, number)
    except (struct.error, OverflowError) as err:
        raise CallRefused("out_of_range", echo(f"{field.name} is out of range")) from err


def _unpack_field(manifest: Manifest, field: Field, payload: bytes) -> tuple[Value, int]:
    """The value at the beginning of the payload, and how many bytes it takes."""
    if field.format == BYTES_FORMAT:
        return unpack_octets(field, payload)
    layout = "<" + field.format
    (number,) = struct.unpack_from(layout, payload)
    return _value_of(manifest, field, number), struct.calcsize(layout)


def _number_of(manifest: Manifest, field: Field, value: Value) -> int | float:
    if field.pins:
        return _pin_named(manifest, field, value).index
    if field.choices:
        if value not in field.choices:
            raise CallRefused(
                "bad_request",
                echo(f"{field.name} must be one of {', '.join(field.choices)}, not {value}"),
            )
        return field.choices.index(str(value))
    if isinstance(value, str) or not math.isfinite(value):
        raise CallRefused("bad_request", echo(f"{field.name} must be a number, not {value}"))
    _require_in_range(field, value)
    on_wire = value / field.scale
    return on_wire if field.format in FLOAT_FORMATS else round(on_wire)


def _pin_named(manifest: Manifest, field: Field, value: Value) -> BoardPin:
    able = manifest.pins_that_can(field.pins)
    for pin in able:
        if pin.name == value:
            return pin
    if not able:
        raise CallRefused("bad_pin", echo(f"{field.name}: {no_pin_for(field.pins)}"))
    names = ", ".join(pin.name for pin in able)
    raise CallRefused("bad_pin", echo(f"{field.name} must be one of {names}, not {value}"))


def no_pin_for(ability: str) -> str:
    """Return the sentence for a board none of whose pins has that ability."""
    return (
        f"no pin of this board can do that ({ability}); "
        "set one up under [board.pins.NAME] in the configuration"
    )


def _require_in_range(field: Field, value: float) -> None:
    low, high = range_of(field)
    unit = f" {field.unit}" if field.unit else ""
    if low is not None and value < low:
        raise CallRefused("out_of_range", echo(f"{field.name} must be at least {low:g}{unit}"))
    if high is not None and value > high:
        raise CallRefused("out_of_range", echo(f"{field.name} must be at most {high:g}{unit}"))


def _value_of(manifest: Manifest, field: Field, number: float) -> Value:
    if field.pins:
        return next((pin.name for pin in manifest.pins if pin.index == number), f"{number}")
    if field.choices:
        if not 0 <= number < len(field.choices):
            raise BadAnswer(f"{field.name} is {number}, which is not a known choice")
        return field.choices[int(number)]
    if is_whole(field):
        return int(number) * int(field.scale)
    return _measured(field, number)


def _measured(field: Field, number: float) -> float:
    if not math.isfinite(number):
        raise BadAnswer(f"{field.name} must be a number")
    value = number * field.scale
    if field.format in FLOAT_FORMATS:
        return float(f"{value:.{_FLOAT_DIGITS}g}")
    # A step of the wire value is the smallest difference worth showing
    return round(value, max(0, -math.floor(math.log10(field.scale))))
