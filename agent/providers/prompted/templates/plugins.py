"""Calls of InternLM and Apertus: objects between a vendor's own marks."""

import re

from agent.providers.prompted.calls import TakenCalls, WantedCall, named_call
from agent.providers.prompted.lenient import LenientReader, Unreadable
from agent.providers.prompted.templates.base import Template, closed, framed_json, refused

_END = re.compile(r"\s*+<\|tools_suffix\|>")


def _take(text: str, place: int) -> TakenCalls:
    """Read a list of objects that have the tool's name as their only key."""
    try:
        found = LenientReader(text, _END).value(place)
        wanted = [one for entry in _entries(found.value) for one in _named(entry)]
    except Unreadable as err:
        return refused(text, max(place, err.place), _END, str(err))
    return closed(text, found.end, _END, wanted)


def _entries(value: object) -> list[object]:
    if not isinstance(value, list) or not value:
        raise Unreadable("it is not a list of calls", 0)
    return value


def _named(entry: object) -> list[WantedCall]:
    if not isinstance(entry, dict) or len(entry) != 1:
        raise Unreadable("a call must have exactly one name", 0)
    return [named_call(str(name), arguments) for name, arguments in entry.items()]


INTERNLM = framed_json("internlm", "<|action_start|><|plugin|>", "<|action_end|>")
APERTUS = Template("apertus", _take, openings=("<|tools_prefix|>",))
