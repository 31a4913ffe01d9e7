"""Calls that a sentence about timers must come to, by its intent and its slots.

The names of the tools and of their arguments stand here alone.
"""

from collections.abc import Mapping
from typing import Any

CLASS = "timers"

_TOOLS = {
    "HassStartTimer": "timer_start",
    "HassIncreaseTimer": "timer_change",
    "HassDecreaseTimer": "timer_change",
    "HassCancelTimer": "timer_cancel",
    "HassCancelAllTimers": "timer_cancel",
    "HassPauseTimer": "timer_pause",
    "HassUnpauseTimer": "timer_resume",
    "HassTimerStatus": "timer_status",
}


def is_timer_tool(name: str) -> bool:
    return name in _TOOLS.values()


def timer_calls(intent: str, slots: Mapping[str, Any]) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """One call, with the arguments that the slots say."""
    named = {"name": slots["name"]} if "name" in slots else {}
    return ((_TOOLS[intent], named),)
