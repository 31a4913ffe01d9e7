"""Calls of Phi-4 and its like: `functools` and a list of objects, as the first word of a line."""

from agent.providers.prompted.calls import TakenCalls
from agent.providers.prompted.templates.base import Template, json_calls


def _take(text: str, place: int) -> TakenCalls:
    return json_calls(text, place - len("[{"), None)


TEMPLATE = Template("functools", _take, line_openings=("functools[{",))
