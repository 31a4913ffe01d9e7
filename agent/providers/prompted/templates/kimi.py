"""Calls of Kimi's models: a section of calls, each with a number behind its name."""

import re

from agent.providers.prompted.calls import TakenCalls, WantedCall, named_call
from agent.providers.prompted.lenient import LenientReader, Unreadable
from agent.providers.prompted.templates.base import Template, closed, refused

_END = re.compile(r"<\|tool_calls?_section_end\|>")
_HEAD = re.compile(
    r"\s*+<\|tool_call_begin\|>\s*+(?:functions\.)?([A-Za-z_][\w.-]{0,63})(?::\d{1,6})?\s*+"
    r"<\|tool_call_argument_begin\|>"
)
_TAIL = re.compile(r"\s*+<\|tool_call_end\|>")
_ALL = re.compile(r"\s*+<\|tool_calls?_section_end\|>")


def _take(text: str, place: int) -> TakenCalls:
    reader = LenientReader(text, _TAIL)
    wanted: list[WantedCall] = []
    try:
        while head := _HEAD.match(text, place):
            found = reader.value(head.end())
            wanted.append(named_call(head[1], found.value))
            place = _end_of_call(text, found.end)
    except Unreadable as err:
        return refused(text, max(place, err.place), _END, str(err))
    if not wanted:
        return refused(text, place, _END, "it contains no call")
    return closed(text, place, _ALL, wanted)


def _end_of_call(text: str, place: int) -> int:
    end = _TAIL.match(text, place)
    if end is None:
        raise Unreadable("its end is missing", place)
    return end.end()


TEMPLATE = Template(
    "kimi", _take, openings=("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>")
)
