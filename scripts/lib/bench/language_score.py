"""Score of one answer: the calls that a sentence's slots say, against the calls that came.

Right is exactly those calls. Wrong is any call that moves an output or changes a timer and that the
slots do not say: another thing, another value, one thing too many. What asks is told apart from
what was not understood by its question mark.
"""

import enum
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.messages import Effect
from agent.providers.base import ChatResponse
from scripts.lib.bench.language_home import Home, Thing
from scripts.lib.bench.language_timers import CLASS as TIMERS
from scripts.lib.bench.language_timers import fits_timer, is_timer_tool, timer_calls

ON_OFF = "on/off by name"
OPEN_CLOSE = "open / close / lock by name"
LEVEL = "level by name"
IS_IT_ON = '"is it on?"'
TEMPERATURE = "temperature"
CLOCK = "time and date"
# Asked of the same homes, with no bar of its own
PLACES = "name and place"
GROUPS = "kind, with or without place"
OTHER = "everything else"
CLASSES = (ON_OFF, OPEN_CLOSE, LEVEL, IS_IT_ON, TEMPERATURE, CLOCK, TIMERS, PLACES, GROUPS, OTHER)

_OPENED = frozenset({"cover", "valve", "lock"})
_SWITCHED = frozenset({"light", "switch", "fan", "script", "input_boolean", "scene"})
_LEVEL_SLOTS = {
    "HassLightSet": "brightness",
    "HassFanSetSpeed": "percentage",
    "HassSetPosition": "position",
}
_SWITCHING = {"HassTurnOn": "on", "HassTurnOff": "off"}
_MOVING = frozenset({Effect.ACTUATE, Effect.HAZARD})

Call = tuple[str, Mapping[str, Any]]

_TIME_NOW: Call = ("time_now", {})
_LOOKED_AT: dict[tuple[str, str], tuple[str, tuple[Call, ...] | None]] = {
    ("HassClimateGetTemperature", "default"): (TEMPERATURE, (("board_mcu_temperature", {}),)),
    ("HassGetCurrentTime", "default"): (CLOCK, (_TIME_NOW,)),
    ("HassGetCurrentDate", "default"): (CLOCK, (_TIME_NOW,)),
}


class Verdict(enum.Enum):
    """Result of one sentence."""

    RIGHT = "right"
    ASKED = "asked"
    NOT_UNDERSTOOD = "not understood"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence, the home it is said in, and the calls that are right; None where none can be."""

    locale: str
    kind: str
    sentence: str
    home: Home
    calls: tuple[Call, ...] | None


@dataclass(frozen=True, slots=True)
class Said:
    """A case and what came of it."""

    case: Case
    response: ChatResponse
    verdict: Verdict
    took_ms: float


def cases(locale: str, files: Mapping[str, Mapping[str, Any]]) -> Iterator[Case]:
    """Every sentence of a locale."""
    for key, told in files.items():
        intent, _, combination = key.partition("/")
        home = Home.of(intent, told)
        for test in told["tests"]:
            slots = test.get("slots", {})
            kind, calls = _wanted(intent, combination, slots, home)
            if kind == TEMPERATURE and _tells_target(told, test):
                kind, calls = OTHER, None
            for sentence in test["sentences"]:
                yield Case(locale, kind, sentence, home, calls)


def _tells_target(told: Mapping[str, Any], test: Mapping[str, Any]) -> bool:
    """Return true if the answer is the temperature to heat to, which no sensor measures."""
    known = [one.get("attributes", {}) for one in told.get("entities", ())]
    wanted = [one["temperature"] for one in known if "temperature" in one]
    return any(f"{degrees:g}" in str(test.get("response", "")) for degrees in wanted)


def verdict(case: Case, response: ChatResponse) -> Verdict:
    """Compare an answer with the slots of the sentence."""
    got = [(call.name, json.loads(call.arguments_json)) for call in response.tool_calls]
    if case.calls is not None and _same(case.calls, got):
        return Verdict.RIGHT
    if any(_acts(call, case) for call in got):
        return Verdict.WRONG
    if got or not response.text.rstrip().endswith(("?", "？")):
        return Verdict.NOT_UNDERSTOOD
    return Verdict.ASKED


def _wanted(
    intent: str, combination: str, slots: Mapping[str, Any], home: Home
) -> tuple[str, tuple[Call, ...] | None]:
    named = home.named(str(slots.get("name", ""))[:32])
    one = named[0] if len(named) == 1 else None
    if intent in _SWITCHING:
        return _switched(intent, combination, one)
    if intent in _LEVEL_SLOTS:
        kind = LEVEL if one and combination in {"name_only", "name_brightness"} else GROUPS
        level = slots.get(_LEVEL_SLOTS[intent])
        return kind, None if one is None or level is None else (_level(one, level),)
    if intent == "HassGetState" and combination == "name_state" and one:
        return IS_IT_ON, (("board_gpio_read", {"pin": one.pin}),)
    if "Timer" in intent:
        return TIMERS, timer_calls(intent, slots)
    return _LOOKED_AT.get((intent, combination), (OTHER, None))


def _switched(
    intent: str, combination: str, one: Thing | None
) -> tuple[str, tuple[Call, ...] | None]:
    if one is None:
        return GROUPS, None
    value = _SWITCHING[intent]
    if one.domain == "lock":
        # Turned on, a lock is locked; its pin is on where it is open
        value = "off" if value == "on" else "on"
    calls = (("board_gpio_write", {"pin": one.pin, "value": value}),)
    if combination not in {"name_only", "name_script"}:
        return PLACES, calls
    if one.domain in _OPENED:
        return OPEN_CLOSE, calls
    return (ON_OFF if one.domain in _SWITCHED else OTHER), calls


def _level(thing: Thing, level: object) -> Call:
    return "board_pwm_write", {"pin": thing.pin, "frequency": 0, "duty": level}


def _same(wanted: Sequence[Call], got: Sequence[Call]) -> bool:
    return len(wanted) == len(got) and all(
        one[0] == two[0] and _agrees(one[0])(one[1], two[1])
        for one, two in zip(wanted, got, strict=True)
    )


def _agrees(tool: str) -> Callable[[Mapping[str, Any], Mapping[str, Any]], bool]:
    return fits_timer if tool.startswith("timer_") else _fits


def _fits(wanted: Mapping[str, Any], got: Mapping[str, Any]) -> bool:
    """Arguments that the slots do not say are free."""
    return all(got.get(name) == value for name, value in wanted.items())


def _acts(call: Call, case: Case) -> bool:
    """It changes something that the slots do not say; a call too few is none too many."""
    if case.calls is not None and any(_same([call], [one]) for one in case.calls):
        return False
    spec = next((one for one in case.home.tools if one.name == call[0]), None)
    return is_timer_tool(call[0]) or spec is None or spec.effect in _MOVING
