"""Calls of Functionary: `>>>name` and an object; `>>>all` is text for people."""

from agent.providers.prompted.calls import NAME, Taken, named_call
from agent.providers.prompted.lenient import LenientReader, Unreadable
from agent.providers.prompted.templates.base import Template


def _take(text: str, place: int) -> Taken:
    name = NAME.match(text, place)
    if name is None or not text.startswith("\n", name.end()):
        return Taken((), place)
    reader = LenientReader(text)
    if not text.startswith("{", reader.after_space(name.end())):
        # Behind the name of whom it is for: everybody
        return Taken((), name.end() if name[0] == "all" else place, is_frame=name[0] == "all")
    try:
        found = reader.value(name.end())
        return Taken((named_call(name[0], found.value),), found.end)
    except Unreadable as err:
        return Taken((), len(text), str(err), is_cut=err.place >= len(text))


TEMPLATE = Template("functionary", _take, line_openings=(">>>",), names_tool=True)
