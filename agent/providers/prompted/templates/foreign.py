"""Calls in a form that is not read here: no prose looks like it, so that nobody is shown it."""

import re

from agent.providers.prompted.calls import TakenCalls
from agent.providers.prompted.templates.base import Template

FOREIGN = "foreign"
_ELEMENTS = ("steptml:invoke", "longcat_tool_call", "tool_call:", "tool_calls:")
# A token that only a template has: of calls, or around what belongs to one
TOKEN = re.compile(
    r"<[|｜][^<>\n|｜]{0,60}(?:tool|call|func|invoke)[^<>\n|｜]{0,60}[|｜]>|<\|(?:open|close)\|>"
    rf"|</?(?:{'|'.join(_ELEMENTS)})[^<>\n]{{0,100}}>",
    re.IGNORECASE,
)
_BEGINNING = re.compile(rf"<[|｜][^<>\n]{{0,124}}\Z|</?(?:{'|'.join(_ELEMENTS)})[^<>\n]{{0,100}}\Z")
_ENDS = re.compile(r"</|<.(?:/|call[|｜])|(?<![a-z])(?:end|suffix|close)(?![a-z])", re.IGNORECASE)
# What is in a call: the rest of a name, and then an object, a list, an attribute or another mark
_FILLED = re.compile(r"\s{0,4}[\w.:-]{0,80}(?:\s{0,4}[\[{(]|\n?\s?<[|｜/\w]| \w{1,40}=)")
_PROBLEM = "it is in a form that is not known here"


def may_become_token(text: str) -> bool:
    """Return true if more text could complete a token from this beginning with `<`."""
    inside = text.removeprefix("<").removeprefix("/")
    return _BEGINNING.match(text) is not None or (
        text.startswith("<") and any(one.startswith(inside) for one in _ELEMENTS)
    )


def _take(text: str, place: int) -> TakenCalls:
    token = text[text.rindex("<", 0, place) : place]
    if _ENDS.search(token):
        return TakenCalls((), place, is_frame=True)
    if _FILLED.match(text, place):
        return TakenCalls((), len(text), _PROBLEM)
    return TakenCalls((), place)


TEMPLATE = Template(FOREIGN, _take)
