"""Calls of DeepSeek's models, whose marks have full-width bars."""

import re

from agent.providers.prompted.calls import TakenCalls, WantedCall, named_call
from agent.providers.prompted.lenient import LenientReader, Unreadable
from agent.providers.prompted.templates.base import Template, closed, refused

_BAR, _GAP = "[|｜]", "[▁_ ]"
_END = re.compile(rf"<{_BAR}tool{_GAP}calls?{_GAP}end{_BAR}>")
_ONE = re.compile(rf"\s*+<{_BAR}tool{_GAP}call{_GAP}begin{_BAR}>")
# V3 writes the kind of the tool first, and its object in a block of code
_HEAD = re.compile(
    rf"\s*+(?:function<{_BAR}tool{_GAP}sep{_BAR}>)?([A-Za-z_][\w.-]{{0,63}})"
    rf"(?:<{_BAR}tool{_GAP}sep{_BAR}>)?\s*+(?:```(?:json)?\s*+)?"
)
_TAIL = re.compile(rf"\s*+(?:```)?\s*+<{_BAR}tool{_GAP}call{_GAP}end{_BAR}>")
_ALL = re.compile(rf"\s*+<{_BAR}tool{_GAP}calls{_GAP}end{_BAR}>")


def _take(text: str, place: int) -> TakenCalls:
    reader = LenientReader(text, _TAIL)
    wanted: list[WantedCall] = []
    try:
        while one := _ONE.match(text, place):
            wanted_one, place = _call(text, one.end(), reader)
            wanted.append(wanted_one)
    except Unreadable as err:
        return refused(text, max(place, err.place), _END, str(err))
    if not wanted:
        return refused(text, place, _END, "it contains no call")
    return closed(text, place, _ALL, wanted)


def _call(text: str, place: int, reader: LenientReader) -> tuple[WantedCall, int]:
    head = _HEAD.match(text, place)
    if head is None:
        raise Unreadable("it does not name a tool", place)
    found = reader.value(head.end())
    end = _TAIL.match(text, found.end)
    if end is None:
        raise Unreadable("its end is missing", found.end)
    return named_call(head[1], found.value), end.end()


TEMPLATE = Template(
    "deepseek",
    _take,
    openings=("<｜tool▁calls▁begin｜>", "<|tool▁calls▁begin|>", "<｜tool_calls_begin｜>"),
)
