"""What models leave in an answer that was never meant for a person: calls, results, stage talk.

Code that a person asked for is left alone: only calls of tools that exist are taken for calls.
"""

import json
import re
from collections.abc import Collection

# Blocks and spans of code stay as they are
_CODE = re.compile(r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`)", re.DOTALL)
_FENCED = re.compile(r"\A```[a-z_]*\s*(.*?)\s*(?:```)?\Z", re.DOTALL | re.IGNORECASE)
_NAMES = (
    r"tool[_-]?calls?|function[_-]?calls?|invoke|tool[_-]?results?|tool[_-]?response"
    r"|minimax:tool_call"
)
_ELEMENT = re.compile(
    rf"<(?P<name>(?:antml:)?(?:{_NAMES}))\b[^<>]*>.*?(?:</(?P=name)\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_FUNCTION = re.compile(r"<function=[^<>]+>.*?(?:</function\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_STRAY = re.compile(rf"</?(?:antml:)?(?:{_NAMES}|function)(?:=[^<>]*)?\s*/?>", re.IGNORECASE)
_NOTE = re.compile(
    r"^\[(?:used tools?|tool (?:call|result|use)s?)\b[^\]\n]*\]?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_STAGE_TALK = re.compile(
    r"\A(?:(?:(?:ok(?:ay)?|sure|alright)[,.!] )?(?:let me|i'll|i will|i'm going to) (?:now )?"
    r"(?:check|look|see|search|read|fetch|get|try|find|use|call|open|query)\b"
    r"|(?:searching|checking|fetching|looking up|reading|calling)\b)[^\n]{0,160}"
    r"(?:\.\.\.|…|:|\.)[ \t]*(?:\n+|\Z)",
    re.IGNORECASE,
)
_NAMED_BY, _GIVEN_AS = ("name", "tool", "function"), ("arguments", "parameters", "args", "input")
# Lines of talk before the answer itself; more is the answer
_MOST_TALK = 3


def without_leavings(text: str, tools: Collection[str], *, used_tools: bool) -> str:
    """The text for a person; empty where there was nothing for one.

    Args:
        tools: names that make a JSON object a call.
        used_tools: what was announced before the answer has been done by now.
    """
    pieces = _CODE.split(text)
    # Every second piece is code
    kept = [
        _outside_code(piece, tools) if number % 2 == 0 else _code(piece, tools)
        for number, piece in enumerate(pieces)
    ]
    cleaned = re.sub(r"\n{3,}", "\n\n", "".join(kept)).strip() if kept != pieces else text
    return _without_stage_talk(cleaned) if used_tools else cleaned


def _outside_code(text: str, tools: Collection[str]) -> str:
    for pattern in (_ELEMENT, _FUNCTION, _STRAY, _NOTE):
        text = pattern.sub("", text)
    return _without_calls(text, tools)


def _code(block: str, tools: Collection[str]) -> str:
    """A block that is nothing but calls goes."""
    match = _FENCED.match(block)
    if match is None or not match[1].startswith(("{", "[")):
        return block
    try:
        value = json.loads(match[1])
    except (ValueError, RecursionError):
        return block
    return "" if is_call(value, tools) else block


def _without_calls(text: str, tools: Collection[str]) -> str:
    """Without JSON objects that stand at the beginning of a line and call a tool."""
    kept, place = "", 0
    for match in re.finditer(r"^[ \t]*(?=[{\[])", text, re.MULTILINE):
        if match.start() < place:
            continue
        try:
            value, end = json.JSONDecoder().raw_decode(text, match.end())
        except (ValueError, RecursionError):
            continue
        if is_call(value, tools):
            kept += text[place : match.start()]
            place = end
    return kept + text[place:]


def is_call(value: object, tools: Collection[str]) -> bool:
    """Whether it is one, or a list of nothing else."""
    if isinstance(value, list):
        return bool(value) and all(is_call(one, tools) for one in value)
    if not isinstance(value, dict):
        return False
    inner = value.get("function")
    if isinstance(inner, dict):
        return is_call(inner, tools)
    named = next((value[key] for key in _NAMED_BY if isinstance(value.get(key), str)), None)
    return named in tools and any(key in value for key in _GIVEN_AS)


def _without_stage_talk(text: str) -> str:
    rest = text
    for _ in range(_MOST_TALK):
        rest, count = _STAGE_TALK.subn("", rest, count=1)
        if not count:
            break
    # Where nothing else was said it is the answer
    return rest.lstrip() or text
