"""Calls of the newer Gemma models: `call:name{key:value}` with a mark of its own around texts."""

import re

from agent.providers.prompted.calls import TakenCalls, WantedCall, wanted_call
from agent.providers.prompted.lenient import LenientReader, Unreadable
from agent.providers.prompted.templates.base import Template, refused

_HEAD = re.compile(r"\s*+call:\s*+([A-Za-z_][\w.-]{0,63})\s*+\{")
_END = re.compile(r"\s*+(?:<end_function_call>|<tool_call\|>)")
_KEY = re.compile(r"\s*+(?P<name>[A-Za-z_]\w{0,63})\s*+:\s*+")
_MARKED_KEY = re.compile(r"\s*+(?P<mark><escape>|<\|\"\|>)(?P<name>[^<>]{1,64})(?P=mark)\s*+:\s*+")
_TEXT = re.compile(r"(<escape>|<\|\"\|>)(.*?)\1", re.DOTALL)


def _take(text: str, place: int) -> TakenCalls:
    head = _HEAD.match(text, place)
    if head is None:
        return refused(text, place, _END, "it does not name a tool")
    try:
        arguments, end = _members(text, head.end())
    except Unreadable as err:
        return refused(text, max(place, err.place), _END, str(err))
    wanted: tuple[WantedCall, ...] = (wanted_call(head[1], arguments),)
    closing = _END.match(text, end)
    return TakenCalls(wanted, closing.end()) if closing else TakenCalls(wanted, end, is_open=True)


def _members(text: str, place: int) -> tuple[dict[str, object], int]:
    members: dict[str, object] = {}
    reader = LenientReader(text)
    while not text.startswith("}", reader.after_space(place)):
        key = _KEY.match(text, place) or _MARKED_KEY.match(text, place)
        if key is None:
            raise Unreadable("a name is missing", place)
        if key["name"] in members:
            raise Unreadable(f"{key['name']} appears twice", place)
        value, place = _value(text, key.end(), reader)
        members[key["name"]] = value
        place = reader.after_space(place)
        if text.startswith(",", place):
            place += 1
        elif not text.startswith("}", place):
            raise Unreadable("a comma or } is missing", place)
    return members, reader.after_space(place) + 1


def _value(text: str, place: int, reader: LenientReader) -> tuple[object, int]:
    if found := _TEXT.match(text, place):
        return found[2], found.end()
    if text.startswith("{", place):
        return _members(text, place + 1)
    if text.startswith("[", place):
        return _entries(text, place + 1, reader)
    value = reader.value(place)
    return value.value, value.end


def _entries(text: str, place: int, reader: LenientReader) -> tuple[list[object], int]:
    entries: list[object] = []
    place = reader.after_space(place)
    while not text.startswith("]", place):
        value, place = _value(text, place, reader)
        entries.append(value)
        place = reader.after_space(place)
        if text.startswith(",", place):
            place = reader.after_space(place + 1)
        elif not text.startswith("]", place):
            raise Unreadable("a comma or ] is missing", place)
    return entries, place + 1


TEMPLATE = Template("gemma", _take, openings=("<|tool_call>",))
# Marks numbers as texts too
FUNCTION = Template("gemma", _take, openings=("<start_function_call>",), is_untyped=True)
