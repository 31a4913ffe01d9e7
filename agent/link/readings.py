"""Readings and settable values of a board's pins, under the names that people use.

The board knows a value by the pin's index and by which part of the reading it is; a person by the
pin's name, and by `climate.humidity` where a pin shows several values.
"""

from collections.abc import Sequence

from msgspec import Struct

from agent.link.devices.device_table import by_capability
from agent.link.manifest import INTEGER_RANGES, BoardPin, Field, Manifest, Method

# What stands for the board itself where the wire format wants a pin
NO_PIN = 255
# The one reading without a pin that the firmware gives
_WITHOUT_PIN = "mcu_temperature"
# A field of this name is the reading itself
_PLAIN = "value"
# Outputs that one number says everything about
_SETTABLE = frozenset(name for name, row in by_capability().items() if row.is_settable)


class UnknownName(ValueError):
    """The board has nothing of that name; the text says what comes close."""


class BoardReading(Struct, frozen=True):
    """A value that a board can look at: `part` is its place in the answer of the read method."""

    index: int
    part: int
    name: str
    field: Field


class Setting(Struct, frozen=True):
    """An output and the field of its write method that says what it is set to."""

    pin: BoardPin
    field: Field


def readings(manifest: Manifest) -> tuple[BoardReading, ...]:
    """Every value that the board can compare or watch by itself."""
    found = [one for pin in manifest.pins for one in _of_pin(manifest, pin)]
    alone = manifest.method(_WITHOUT_PIN)
    if alone is not None and not alone.arguments and alone.result:
        found.append(BoardReading(NO_PIN, 0, alone.name, alone.result[0]))
    return tuple(found)


def settings(manifest: Manifest) -> tuple[Setting, ...]:
    """Every output that is set by one number or choice."""
    found = []
    for pin in manifest.pins:
        method = next((one for one in manifest.methods if _drives(one, pin)), None)
        if method is not None:
            found.append(Setting(pin, method.arguments[-1]))
    return tuple(found)


def find_reading(manifest: Manifest, name: str) -> BoardReading:
    """The reading of that name, alias or label.

    Raises:
        UnknownName: there is none.
    """
    known = readings(manifest)
    proper = proper_name(manifest, name)
    for one in known:
        if one.name == proper:
            return one
    raise _unknown(name, "reading", [one.name for one in known])


def find_setting(manifest: Manifest, name: str) -> Setting:
    """The output of that name, alias or label.

    Raises:
        UnknownName: there is none.
    """
    known = settings(manifest)
    proper = proper_name(manifest, name)
    for one in known:
        if one.pin.name == proper:
            return one
    raise _unknown(name, "output", [one.pin.name for one in known])


def proper_name(manifest: Manifest, written: str) -> str:
    """The name of the pin that was meant; what follows a dot stays."""
    pin_name, dot, part = written.casefold().strip().partition(".")
    names = {pin.name for pin in manifest.pins}
    if pin_name not in names:
        for pin in manifest.pins:
            if pin_name in {label.casefold() for label in (pin.pin, *pin.aliases)}:
                pin_name = pin.name
                break
    return pin_name + dot + part


def read_method(manifest: Manifest, pin: BoardPin) -> Method | None:
    """The method that says what the pin shows; its one argument is the pin."""
    return next((one for one in manifest.methods if _reads(one, pin)), None)


def _of_pin(manifest: Manifest, pin: BoardPin) -> list[BoardReading]:
    method = read_method(manifest, pin)
    if method is None:
        return []
    return [
        BoardReading(
            pin.index, part, pin.name if field.name == _PLAIN else f"{pin.name}.{field.name}", field
        )
        for part, field in enumerate(method.result)
        if field.format in INTEGER_RANGES and not field.pins
    ]


def _reads(method: Method, pin: BoardPin) -> bool:
    arguments = method.arguments
    return method.safety == "read" and len(arguments) == 1 and arguments[0].pins in pin.can


def _drives(method: Method, pin: BoardPin) -> bool:
    if not method.lease or len(method.arguments) <= 1:
        return False
    capability = method.arguments[0].pins
    return capability in _SETTABLE and capability in pin.can


def _unknown(name: str, what: str, known: Sequence[str]) -> UnknownName:
    import difflib  # noqa: PLC0415 - only after a mistake

    close = difflib.get_close_matches(name.casefold(), known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"available: {', '.join(known) or 'none'}"
    return UnknownName(f"the board has no {what} {name!r}; {hint}")
