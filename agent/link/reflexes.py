"""Reflexes: rules that a board runs by itself, typed here, packed for the wire, and put in words.

A rule speaks in names and units; the board compares raw numbers. What it means is the same on both
sides: `read_rule(pack_rule(rule))` is the rule. The board checks everything again and decides.
"""

import math
import struct
from typing import Annotated, Literal

import msgspec

from agent.link import frame as wire
from agent.link.manifest import Field, Manifest
from agent.link.readings import (
    BoardReading,
    Setting,
    UnknownName,
    find_reading,
    find_setting,
    readings,
    settings,
)
from agent.link.value_codec import range_of
from agent.text.printable import printable_line

# The longest time that an output stays on without the Pi, whatever it is: the longest lease
LONGEST_S = 10.0
# A rule that looks less often than once a week is no reflex
LONGEST_INTERVAL_S = 604_800
# Beyond an hour a condition is a matter for the agent
LONGEST_HOLD_S = 3_600
NAME_BYTES = 23
CONDITIONS_MOST = 2

Comparison = Literal["below", "above", "equal", "unequal"]
COMPARISONS: tuple[Comparison, ...] = ("below", "above", "equal", "unequal")
_I32 = (-(2**31), 2**31 - 1)
_NO_CONDITION = (0, 0, 0, 0)


class BadRule(ValueError):
    """The rule makes no sense for this board; the text says what to change."""


class Condition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A reading of the board against a value in its unit."""

    reading: Annotated[str, msgspec.Meta(description="name of a pin, or pin.part", max_length=65)]
    comparison: Comparison
    value: Annotated[
        float | str, msgspec.Meta(description="on or off, or a number in the reading's unit")
    ]
    # How far beyond the value the reading must go back before the condition ends
    hysteresis: Annotated[float, msgspec.Meta(ge=0)] = 0


class ReflexRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rule of a reflex: conditions, an output with its value, a duration and a rate."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]{0,22}\Z")]
    when: Annotated[
        tuple[Condition, ...],
        msgspec.Meta(
            min_length=1, max_length=CONDITIONS_MOST, description="all of these must hold"
        ),
    ]
    output: Annotated[str, msgspec.Meta(description="name of a pin", max_length=32)]
    value: Annotated[float | str, msgspec.Meta(description="on or off, or a number")]
    every_s: Annotated[
        int,
        msgspec.Meta(
            ge=1, le=LONGEST_INTERVAL_S, description="minimum time between two firings, in seconds"
        ),
    ]
    for_s: Annotated[
        float,
        msgspec.Meta(
            ge=0, le=LONGEST_S, description="duration of the action; 0 only with the safe value"
        ),
    ] = 0
    held_s: Annotated[
        float,
        msgspec.Meta(
            ge=0, le=LONGEST_HOLD_S, description="time for which the conditions must hold first"
        ),
    ] = 0


def pack_rule(manifest: Manifest, rule: ReflexRule, *, enabled: bool = True) -> bytes:
    """The rule as the board takes it.

    Raises:
        BadRule: a name is unknown or a number out of range.
    """
    try:
        setting = find_setting(manifest, rule.output)
        conditions = [_packed(manifest, one) for one in rule.when]
    except UnknownName as err:
        raise BadRule(str(err)) from err
    value = _raw(setting.field, setting.pin.name, rule.value)
    duration_ms = _duration_ms(setting, value, rule.for_s)
    if rule.every_s * 1000 <= duration_ms:
        raise BadRule(
            "every_s must be longer than for_s, or the output would never return to its safe value"
        )
    conditions += [_NO_CONDITION] * (CONDITIONS_MOST - len(conditions))
    name = rule.name.encode()
    if not 1 <= len(name) <= NAME_BYTES:
        raise BadRule(f"a name must have 1 to {NAME_BYTES} letters")
    return struct.pack(
        wire.RULE_FORMAT,
        enabled,
        len(rule.when),
        setting.pin.index,
        value,
        duration_ms,
        rule.every_s,
        round(rule.held_s * 1000),
        *conditions[0],
        *conditions[1],
        len(name),
        name,
    )


def read_rule(manifest: Manifest, raw: bytes) -> ReflexRule:
    """Return a stored rule in names and units, as far as they are known.

    Raises:
        BadRule: it is no rule.
    """
    try:
        fields = struct.unpack_from(wire.RULE_FORMAT, raw)
    except struct.error as err:
        raise BadRule("the board's answer is too short for a reflex") from err
    _, count, output, value, duration_ms, interval_s, hold_ms = fields[:7]
    setting = next((one for one in settings(manifest) if one.pin.index == output), None)
    return ReflexRule(
        name=printable_line(fields[16][: fields[15]].decode(errors="replace"), NAME_BYTES),
        when=tuple(
            _unpacked(manifest, fields[7 + 4 * which : 11 + 4 * which])
            for which in range(min(count, CONDITIONS_MOST))
        ),
        output=setting.pin.name if setting else f"pin {output}",
        value=_told(setting.field, value) if setting else value,
        every_s=interval_s,
        for_s=duration_ms / 1000,
        held_s=hold_ms / 1000,
    )


def in_words(manifest: Manifest, rule: ReflexRule) -> str:
    """Return the rule as one sentence for the owner."""
    when = " and ".join(_condition_in_words(manifest, one) for one in rule.when)
    lasting = f", for {span(rule.held_s)} without a break" if rule.held_s else ""
    setting = next((one for one in settings(manifest) if one.pin.name == rule.output), None)
    value = _with_unit(setting.field if setting else None, rule.value)
    action = f"{rule.output} {value}" + (f" for {span(rule.for_s)}" if rule.for_s else "")
    return f"When {when}{lasting}: {action}, at most once every {span(rule.every_s)}."


def with_proper_names(manifest: Manifest, rule: ReflexRule) -> ReflexRule:
    """The same rule with the names that the board uses, and values as they are on the wire."""
    return read_rule(manifest, pack_rule(manifest, rule))


def span(seconds: float) -> str:
    """Return a duration in the largest unit that gives a whole number."""
    for size_s, unit, least in ((86_400, "days", 2), (3_600, "h", 2), (60, "min", 1)):
        if seconds % size_s == 0 and seconds >= least * size_s:
            return f"{seconds / size_s:g} {unit}"
    return f"{seconds:g} s"


def _packed(manifest: Manifest, condition: Condition) -> tuple[int, int, int, int]:
    reading = find_reading(manifest, condition.reading)
    field = reading.field
    if field.choices and (condition.comparison in {"below", "above"} or condition.hysteresis):
        raise BadRule(
            f"{reading.name} is one of {', '.join(field.choices)}: use the comparison equal"
        )
    threshold = _raw(field, reading.name, condition.value)
    code = COMPARISONS.index(condition.comparison) | reading.part << 4
    hysteresis = _in_i32(reading.name, condition.hysteresis / field.scale)
    return reading.index, code, threshold, hysteresis


def _unpacked(manifest: Manifest, fields: tuple[int, ...]) -> Condition:
    index, code, threshold, hysteresis = fields
    part, comparison = code >> 4, COMPARISONS[code & 3]
    reading = _reading_at(manifest, index, part)
    if reading is None:
        return Condition(f"pin {index}", comparison, threshold, hysteresis)
    slack = float(_told(Field("hysteresis", "i", scale=reading.field.scale), hysteresis))
    return Condition(reading.name, comparison, _told(reading.field, threshold), slack)


def _reading_at(manifest: Manifest, index: int, part: int) -> BoardReading | None:
    known = readings(manifest)
    return next((one for one in known if (one.index, one.part) == (index, part)), None)


def _duration_ms(setting: Setting, value: int, for_s: float) -> int:
    duration_ms = round(for_s * 1000)
    name = setting.pin.name
    if setting.field.choices and value == setting.pin.safe:
        if duration_ms:
            raise BadRule(f"{name} stays at its safe value on its own: set for_s to 0")
        return 0
    longest_ms = min(LONGEST_S * 1000, setting.pin.max_on_ms or math.inf)
    if not 1 <= duration_ms <= longest_ms:
        raise BadRule(f"a reflex may hold {name} for at most {longest_ms / 1000:g} s")
    return duration_ms


def _raw(field: Field, name: str, value: float | str) -> int:
    """Return the value in the board's units."""
    if field.choices:
        written = str(value).casefold().strip()
        if written not in field.choices:
            raise BadRule(f"{name} must be one of {', '.join(field.choices)}, not {value}")
        return field.choices.index(written)
    number = _number(name, value)
    low, high = range_of(field)
    unit = f" {field.unit}" if field.unit else ""
    if (low is not None and number < low) or (high is not None and number > high):
        raise BadRule(f"{name} must be between {low:g} and {high:g}{unit}, not {number:g}")
    return _in_i32(name, number / field.scale)


def _in_i32(name: str, number: float) -> int:
    if not _I32[0] <= number <= _I32[1]:
        raise BadRule(f"{name}: the board cannot compare as many as {number:g} steps")
    return round(number)


def _number(name: str, value: float | str) -> float:
    try:
        number = float(value)
    except ValueError as err:
        raise BadRule(f"{name} must be a number, not {value!r}") from err
    if not math.isfinite(number):
        raise BadRule(f"{name} must be a number, not {value!r}")
    return number


def _told(field: Field, raw: int) -> float | str:
    if field.choices:
        return field.choices[raw] if 0 <= raw < len(field.choices) else raw
    digits = max(0, -math.floor(math.log10(field.scale)))
    return round(raw * field.scale, digits)


def _condition_in_words(manifest: Manifest, condition: Condition) -> str:
    known = readings(manifest)
    reading = next((one for one in known if one.name == condition.reading), None)
    field = reading.field if reading else None
    name, value = condition.reading.replace(".", " "), _with_unit(field, condition.value)
    slack = _with_unit(field, condition.hysteresis) if condition.hysteresis else ""
    match condition.comparison:
        case "below" | "above":
            until = f" (and until it is back at {_back(field, condition)})" if slack else ""
            return f"{name} is {condition.comparison} {value}{until}"
        case "equal":
            return f"{name} is within {slack} of {value}" if slack else f"{name} is {value}"
        case _:
            away = f"more than {slack} away from" if slack else "not"
            return f"{name} is {away} {value}"


def _back(field: Field | None, condition: Condition) -> str:
    """Return where a comparison that held ends."""
    if isinstance(condition.value, str):
        return condition.value
    away = condition.hysteresis if condition.comparison == "below" else -condition.hysteresis
    return _with_unit(field, condition.value + away)


def raw_in_words(field: Field, raw: int) -> str:
    """Return a value of the board with its unit."""
    return _with_unit(field, _told(field, raw))


def _with_unit(field: Field | None, value: float | str) -> str:
    told = value if isinstance(value, str) else f"{value:.10g}"
    return f"{told} {field.unit}" if field is not None and field.unit else told
