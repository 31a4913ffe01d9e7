"""Calls of DeepSeek from V3.2 on: elements with `｜DSML｜` before their names.

V4 names the group otherwise, and V4.1 puts a space before each name.
"""

import re

from agent.providers.prompted.calls import TakenCalls, WantedCall, wanted_call
from agent.providers.prompted.lenient import LenientReader, Unreadable
from agent.providers.prompted.templates.base import Template, refused

_MARK = "｜DSML｜"
_GROUPS = ("function_calls", "tool_calls", "calls")
_END = re.compile(rf"</{_MARK} ?(?:{'|'.join(_GROUPS)})>")
_INVOKE = re.compile(
    rf'<{_MARK} ?invoke name="([A-Za-z_][\w.-]{{0,63}})">(.*?)</{_MARK} ?invoke>', re.DOTALL
)
_PARAMETER = re.compile(
    rf'<{_MARK} ?parameter name="([A-Za-z_][\w-]{{0,63}})"(?: string="(true|false)")?>'
    rf"(.*?)</{_MARK} ?parameter>",
    re.DOTALL,
)


def _take(text: str, place: int) -> TakenCalls:
    end = _END.search(text, place)
    if end is None:
        return TakenCalls((), len(text), "its end is missing", is_cut=True)
    inside = text[place : end.start()]
    try:
        wanted = tuple(_call(found[1], found[2]) for found in _INVOKE.finditer(inside))
    except Unreadable as err:
        return TakenCalls((), end.end(), str(err))
    if not wanted or _INVOKE.sub("", inside).strip():
        return refused(text, place, _END, "it contains something else")
    return TakenCalls(wanted, end.end())


def _call(name: str, inside: str) -> WantedCall:
    if _PARAMETER.sub("", inside).strip():
        raise Unreadable("it contains something else", 0)
    arguments = {
        key: value if is_text == "true" else LenientReader(value).value(0).value
        for key, is_text, value in _PARAMETER.findall(inside)
    }
    return wanted_call(name, arguments)


TEMPLATE = Template(
    "dsml", _take, openings=tuple(f"<{_MARK}{gap}{one}>" for gap in ("", " ") for one in _GROUPS)
)
