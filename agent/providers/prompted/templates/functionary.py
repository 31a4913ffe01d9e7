"""Calls of Functionary: `>>>name` and an object; `>>>all` is text for people."""

from agent.providers.prompted.calls import NAME, TakenCalls, named_call
from agent.providers.prompted.lenient import LenientReader, Unreadable
from agent.providers.prompted.templates.base import Template


def _take(text: str, place: int) -> TakenCalls:
    name = NAME.match(text, place)
    if name is None or not text.startswith("\n", name.end()):
        return TakenCalls((), place)
    reader = LenientReader(text)
    if not text.startswith("{", reader.after_space(name.end())):
        # Behind the name of whom it is for: everybody
        return TakenCalls((), name.end() if name[0] == "all" else place, is_frame=name[0] == "all")
    try:
        found = reader.value(name.end())
        return TakenCalls((named_call(name[0], found.value),), found.end)
    except Unreadable as err:
        return TakenCalls((), len(text), str(err), is_cut=err.place >= len(text))


TEMPLATE = Template("functionary", _take, line_openings=(">>>",), names_tool=True)
