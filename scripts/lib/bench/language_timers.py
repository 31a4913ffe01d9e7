"""Calls that a sentence about timers must come to, by its intent and its slots.

The names of the tools and of their arguments stand here alone. A timer has no place of its own: the
place that was said is its name. What is to be done later is kept in words, in whatever order.
"""

import difflib
from collections.abc import Mapping
from typing import Any

CLASS = "timers"

_TOOLS = {
    "HassStartTimer": "timer_start",
    "HassIncreaseTimer": "timer_change",
    "HassDecreaseTimer": "timer_change",
    "HassCancelTimer": "timer_cancel",
    "HassCancelAllTimers": "timer_cancel",
    "HassPauseTimer": "timer_change",
    "HassUnpauseTimer": "timer_change",
    "HassTimerStatus": "timer_list",
}
_SIGNS = {"HassIncreaseTimer": 1, "HassDecreaseTimer": -1}
_STATES = {"HassPauseTimer": "paused", "HassUnpauseTimer": "running"}
_SECONDS = {"hours": 3600, "minutes": 60, "seconds": 1}
# What the person's language is, the slots do not say
_FREE = frozenset({"language"})
# The same order with its verb in another place is as like
_ALIKE = 0.7

Call = tuple[str, Mapping[str, Any]]


def is_timer_tool(name: str) -> bool:
    return name in {*_TOOLS.values(), "reminder_set"} - {"timer_list"}


def timer_calls(intent: str, slots: Mapping[str, Any] | None) -> tuple[Call, ...]:
    """One call; an argument that may be said in several ways is a tuple of them."""
    said = slots or {}
    wanted: dict[str, Any] = {}
    named = said.get("name", said.get("area"))
    if named:
        wanted["name"] = tuple(named) if isinstance(named, list) else (named,)
    amount, set_for = _seconds(said, ""), _seconds(said, "start_")
    if intent == "HassStartTimer":
        wanted["seconds"] = amount
    elif set_for:
        wanted["set_for_seconds"] = set_for
    if intent in _SIGNS:
        wanted["add_seconds"] = _SIGNS[intent] * amount
    if intent in _STATES:
        wanted["state"] = _STATES[intent]
    if intent == "HassCancelAllTimers":
        wanted["all"] = True
    if command := said.get("conversation_command"):
        wanted["order"] = tuple(command) if isinstance(command, list) else (command,)
    return ((_TOOLS[intent], wanted),)


def fits_timer(wanted: Mapping[str, Any], got: Mapping[str, Any]) -> bool:
    """Exactly these arguments."""
    given = {name: value for name, value in got.items() if name not in _FREE}
    return given.keys() == wanted.keys() and all(
        _is_one_of(wanted[name], value, name) for name, value in given.items()
    )


def _is_one_of(wanted: Any, given: Any, name: str) -> bool:
    if not isinstance(wanted, tuple):
        return bool(wanted == given)
    said = str(given).strip().casefold()
    ways = [str(one).strip().casefold() for one in wanted]
    if name == "order":
        return any(difflib.SequenceMatcher(None, one, said).ratio() >= _ALIKE for one in ways)
    return said in ways


def _seconds(slots: Mapping[str, Any], prefix: str) -> int:
    return sum(int(slots.get(f"{prefix}{name}", 0)) * factor for name, factor in _SECONDS.items())
