"""Calls in the form of ReAct: a line `Action: name`, then `Action Input:` and an object."""

import re

from agent.providers.prompted.calls import TakenCalls, named_call
from agent.providers.prompted.lenient import LenientReader, Unreadable
from agent.providers.prompted.templates.base import Template

_NAME = re.compile(r"[ \t]*+`?([A-Za-z_][\w.-]{0,63})`?[ \t]*+\r?\n\s*+Action Input:[ \t]*+")
# What the model thinks before an action or an answer, where an answer begins with it
_THOUGHT = re.compile(
    r"\A\s*Thought:.*?^(?:(?=Action:)|Final Answer:[ \t]*)", re.DOTALL | re.MULTILINE
)


def without_thought(text: str) -> str:
    """Return an answer without the thought that it begins with, if an action or answer follows."""
    return _THOUGHT.sub("", text, count=1)


def _take(text: str, place: int) -> TakenCalls:
    name = _NAME.match(text, place)
    if name is None:
        # A line of prose that begins like one
        return TakenCalls((), place)
    reader = LenientReader(text)
    try:
        found = reader.value(name.end())
        return TakenCalls((named_call(name[1], found.value),), found.end)
    except Unreadable as err:
        return TakenCalls((), len(text), str(err), is_cut=err.place >= len(text))


TEMPLATE = Template("react", _take, line_openings=("Action:",), names_tool=True)
