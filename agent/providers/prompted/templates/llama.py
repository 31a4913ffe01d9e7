"""Calls of Llama 3's models behind `<|python_tag|>`: objects, or a call of a built-in tool."""

from agent.providers.prompted.calls import TakenCalls
from agent.providers.prompted.lenient import LenientReader
from agent.providers.prompted.templates.base import Template, json_calls
from agent.providers.prompted.templates.python_calls import PythonCalls


def _take(text: str, place: int) -> TakenCalls:
    start = LenientReader(text).after_space(place)
    if text.startswith(("{", "[{", "[\n", "[ {"), start):
        return json_calls(text, start, None)
    return PythonCalls(text).taken(start)


TEMPLATE = Template("llama", _take, openings=("<|python_tag|>",))
