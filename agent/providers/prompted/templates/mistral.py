"""Calls of Mistral's models: `[TOOL_CALLS]` and a list of objects, or name and arguments each."""

import re

from agent.providers.prompted.calls import NAME, TakenCalls, WantedCall, named_call
from agent.providers.prompted.lenient import LenientReader, Unreadable
from agent.providers.prompted.templates.base import Template, json_calls, refused

_END = re.compile(r"\s*+\[/TOOL_CALLS\]")
_ID = re.compile(r"\[CALL_ID\][\w-]{1,64}")


def _take(text: str, place: int) -> TakenCalls:
    reader = LenientReader(text)
    start = reader.after_space(place)
    if text.startswith(("[{", "{", "[ {", "[\n"), start):
        taken = json_calls(text, start, None)
        end = _END.match(text, taken.end)
        return TakenCalls(taken.wanted, end.end(), taken.problem) if end else taken
    try:
        one, end_place = _named(text, start, reader)
    except Unreadable as err:
        return refused(text, max(err.place, place), None, str(err))
    return TakenCalls((one,), end_place)


def _named(text: str, place: int, reader: LenientReader) -> tuple[WantedCall, int]:
    """Return a call as newer models write it: name, perhaps a number, and one object."""
    name = NAME.match(text, place)
    if name is None:
        raise Unreadable("it does not name a tool", place)
    place = name.end()
    if number := _ID.match(text, place):
        place = number.end()
    if text.startswith("[ARGS]", place):
        place += len("[ARGS]")
    found = reader.value(place)
    return named_call(name[0], found.value), found.end


TEMPLATE = Template("mistral", _take, openings=("[TOOL_CALLS]",))
