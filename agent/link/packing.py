"""Typed values to bytes and back, by the formats of the manifest.

Limits are checked here too, so that a person hears at once why something cannot be; the board
checks them again and is the one that decides.
"""

import math
import struct
from collections.abc import Mapping

from agent.errors import CallRefused
from agent.link import octets
from agent.link.base import Value
from agent.link.manifest import (
    BYTES_FORMAT,
    FLOAT_FORMATS,
    INTEGER_RANGES,
    Field,
    Manifest,
    Method,
    Pin,
)
from agent.passage import echo

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
        except (struct.error, octets.CutOff) as err:
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
        return octets.pack(field, arguments[field.name])
    number = _number_of(manifest, field, arguments[field.name])
    try:
        return struct.pack("<" + field.format, number)
    except (struct.error, OverflowError) as err:
        raise CallRefused("out_of_range", echo(f"{field.name} is out of range")) from err


def _unpack_field(manifest: Manifest, field: Field, payload: bytes) -> tuple[Value, int]:
    """The value at the beginning of the payload, and how many bytes it takes."""
    if field.format == BYTES_FORMAT:
        return octets.unpack(field, payload)
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
                echo(f"{field.name} is one of {', '.join(field.choices)}, not {value}"),
            )
        return field.choices.index(str(value))
    if isinstance(value, str) or not math.isfinite(value):
        raise CallRefused("bad_request", echo(f"{field.name} is a number, not {value}"))
    _require_in_range(field, value)
    on_wire = value / field.scale
    return on_wire if field.format in FLOAT_FORMATS else round(on_wire)


def _pin_named(manifest: Manifest, field: Field, value: Value) -> Pin:
    able = manifest.pins_that_can(field.pins)
    for pin in able:
        if pin.name == value:
            return pin
    names = ", ".join(pin.name for pin in able) or "none"
    raise CallRefused("bad_pin", echo(f"{field.name} is one of {names}, not {value}"))


def _require_in_range(field: Field, value: float) -> None:
    low, high = range_of(field)
    unit = f" {field.unit}" if field.unit else ""
    if low is not None and value < low:
        raise CallRefused("out_of_range", echo(f"{field.name} is at least {low:g}{unit}"))
    if high is not None and value > high:
        raise CallRefused("out_of_range", echo(f"{field.name} is at most {high:g}{unit}"))


def _value_of(manifest: Manifest, field: Field, number: float) -> Value:
    if field.pins:
        return next((pin.name for pin in manifest.pins if pin.index == number), f"{number}")
    if field.choices:
        if not 0 <= number < len(field.choices):
            raise BadAnswer(f"{field.name} is {number}, which means nothing")
        return field.choices[int(number)]
    if is_whole(field):
        return int(number) * int(field.scale)
    return _measured(field, number)


def _measured(field: Field, number: float) -> float:
    if not math.isfinite(number):
        raise BadAnswer(f"{field.name} is not a number")
    value = number * field.scale
    if field.format in FLOAT_FORMATS:
        return float(f"{value:.{_FLOAT_DIGITS}g}")
    # A step of the wire value is the smallest difference worth showing
    return round(value, max(0, -math.floor(math.log10(field.scale))))
