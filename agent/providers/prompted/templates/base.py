"""Template of tool calls: how one begins, and how the calls in it are read.

A template says where a call is one. What stands around it, and if it runs, the reader decides.
"""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from agent.providers.prompted.calls import TakenCalls, WantedCall, calls_in
from agent.providers.prompted.lenient import LenientReader, Unreadable

Take = Callable[[str, int], TakenCalls]


class Template(Struct, frozen=True):
    """Form of calls.

    Args:
        name: of the vendor's form.
        openings: literal beginnings of a call, anywhere that is not quoted.
        line_openings: literal beginnings that count only as the first word of a line.
        take: reads the calls; its place is right after the opening.
        names_tool: the name of a tool follows the opening at once; else it is prose.
        is_untyped: every argument is text, and becomes what the schema of its tool asks for.
    """

    name: str
    take: Take
    openings: tuple[str, ...] = ()
    line_openings: tuple[str, ...] = ()
    names_tool: bool = False
    is_untyped: bool = False


def refused(text: str, place: int, closing: re.Pattern[str] | None, problem: str) -> TakenCalls:
    """Return what is no call: it goes on behind its end, or is cut if that is missing."""
    end = closing.search(text, place) if closing else None
    if end is None:
        return TakenCalls((), len(text), problem, is_cut=True)
    return TakenCalls((), end.end(), problem)


def json_calls(text: str, start: int, closing: re.Pattern[str] | None) -> TakenCalls:
    """Return the calls in JSON objects or lists, one after the other, up to `closing`.

    Args:
        closing: ends the calls; without one they end with the last object.
    """
    reader = LenientReader(text, closing)
    wanted: list[WantedCall] = []
    place = reader.after_space(start)
    try:
        while text.startswith(("{", "["), place):
            found = reader.value(place)
            wanted += calls_in(found.value, found.end)
            place = _after_separator(text, reader.after_space(found.end))
    except Unreadable as err:
        return refused(text, max(start, err.place), closing, str(err))
    if not wanted:
        return refused(text, start, closing, "it is not JSON")
    return closed(text, place, closing, tuple(wanted))


def closed(
    text: str, place: int, closing: re.Pattern[str] | None, wanted: Sequence[WantedCall]
) -> TakenCalls:
    """Return whole calls that end at `place`, with the mark that closes them."""
    if closing is None:
        return TakenCalls(tuple(wanted), place)
    end = closing.match(text, place)
    return (
        TakenCalls(tuple(wanted), end.end())
        if end
        else TakenCalls(tuple(wanted), place, is_open=True)
    )


def framed_json(name: str, opening: str, closing: str, *further: str) -> Template:
    """Return a template of JSON between two literal marks."""
    pattern = re.compile(rf"\s*+{re.escape(closing)}")

    def take(text: str, place: int) -> TakenCalls:
        return json_calls(text, place, pattern)

    return Template(name, take, openings=(opening, *further))


def _after_separator(text: str, place: int) -> int:
    """Skip the semicolon or comma between two objects."""
    if text.startswith((";", ","), place):
        return LenientReader(text).after_space(place + 1)
    return place
