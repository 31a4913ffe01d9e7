"""Lists of Python calls between marks: Llama 4, LFM2, Olmo and MiniCPM 4."""

import re

from agent.providers.prompted.calls import TakenCalls
from agent.providers.prompted.templates.base import Template, json_calls
from agent.providers.prompted.templates.python_calls import PythonCalls

# Some models put the calls into a block of code
_BLOCK = re.compile(r"\s*+```(?:python)?[ \t]*+\r?\n")
_END = re.compile(r"\s*+(?:```\s*+)?(?:<\|python_end\|>|<\|tool_call_end\|>)")


def _take(text: str, place: int) -> TakenCalls:
    if block := _BLOCK.match(text, place):
        place = block.end()
    if re.match(r"\s{0,8}\[?\s{0,8}\{", text[place : place + 20]):
        return json_calls(text, place, _END)
    return PythonCalls(text, _END).taken(place)


TEMPLATE = Template("pythonic", _take, openings=("<|python_start|>", "<|tool_call_start|>"))
