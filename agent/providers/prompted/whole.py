"""Answers that are nothing but calls: only those need no mark."""

import re

from msgspec import Struct

from agent.providers import template_names
from agent.providers.answer import bare
from agent.providers.prompted import marks
from agent.providers.prompted.calls import (
    NAME,
    NAMED_AT_ONCE,
    Offered,
    WantedCall,
    begins_call,
    calls_in,
    is_nothing_else,
    named_call,
    take,
)
from agent.providers.prompted.lenient import LenientReader, Unreadable
from agent.providers.prompted.specials import before_turn_end
from agent.providers.prompted.templates.python_calls import PythonCalls

_BLOCK = re.compile(r"(`{3,64})([^\n`]{0,100})\n(.*?)\r?\n?\1[ \t]*", re.DOTALL)
# Models leave the first line of the block to the server's template
_BLOCK_END = re.compile(r"\s*```\Z")
# A call in Python's form
_CALLED = re.compile(r"([A-Za-z_][\w.-]{0,63})\([^\n]{0,2000}\)")
_SEPARATOR = re.compile(r"\s*[;,]?\s*")


def is_meant(text: str, offered: Offered) -> bool:
    """Return true if an answer begins as a call of a tool that there is, and cannot be read."""
    inside = before_turn_end(text).strip()
    name = _CALLED.fullmatch(inside)
    if name is not None:
        return bare(name[1]) in offered
    named = NAMED_AT_ONCE.match(inside)
    if named is None or bare(named[1]) not in offered:
        return False
    try:
        LenientReader(inside).value(0)
    except Unreadable:
        return True
    return False


class WholeCalls(Struct, frozen=True):
    """Calls of an answer that is nothing else."""

    wanted: tuple[WantedCall, ...] = ()
    template: str = template_names.JSON


_NONE = WholeCalls()


def whole(text: str, offered: Offered) -> WholeCalls:
    """Return the calls in an answer that is nothing else; none if it is anything else.

    Without marks only such an answer is a call: only with tools that there are, and nothing beside
    their names and arguments.
    """
    inside = before_turn_end(text).strip()
    block = _BLOCK.fullmatch(inside)
    inside = _BLOCK_END.sub("", inside) if block is None else block[3].strip()
    mark = marks.MARK.match(inside)
    if mark is not None and begins_call(mark):
        taken = take(inside, mark, offered)
        is_all = taken.end == len(inside) and not taken.problem and not taken.is_open
        return WholeCalls(taken.wanted) if block is not None and is_all else _NONE
    if wanted := _in_python(inside):
        found = WholeCalls(wanted, template_names.PYTHON)
    else:
        found = WholeCalls(_in_json(inside))
    return found if all(one.name in offered for one in found.wanted) else _NONE


def _in_python(inside: str) -> tuple[WantedCall, ...]:
    try:
        wanted, end = PythonCalls(inside).calls(0)
    except Unreadable:
        return ()
    return tuple(wanted) if end == len(inside) else ()


def _in_json(inside: str) -> tuple[WantedCall, ...]:
    tool = NAME.match(inside)
    reader = LenientReader(inside)
    try:
        if tool is not None:
            found = reader.value(tool.end())
            is_all = reader.after_space(found.end) == len(inside)
            return (named_call(tool[0], found.value),) if is_all else ()
        return _objects(inside, reader)
    except Unreadable:
        return ()


def _objects(inside: str, reader: LenientReader) -> tuple[WantedCall, ...]:
    """Return the calls of objects that follow one another."""
    wanted: list[WantedCall] = []
    place = 0
    while place < len(inside):
        found = reader.value(place)
        if not is_nothing_else(found.value):
            return ()
        wanted += calls_in(found.value)
        separator = _SEPARATOR.match(inside, found.end)
        place = separator.end() if separator else found.end
    return tuple(wanted)
