"""Calls of Phi and Granite behind `<|tool_call|>`, and of Phi-4: `functools` at a line's start."""

from agent.providers.prompted.calls import TakenCalls
from agent.providers.prompted.templates.base import Template, framed_json, json_calls


def _take(text: str, place: int) -> TakenCalls:
    return json_calls(text, place - len("[{"), None)


TEMPLATE = framed_json("phi", "<|tool_call|>", "<|/tool_call|>")
FUNCTOOLS = Template("functools", _take, line_openings=("functools[{",))
