"""How much of a text that still grows is certain: what may become a leaving is held back.

What `leavings` takes out of a whole text is never shown of a part of it. What was held back for
nothing is shown a few words later.
"""

import json
import re
from collections.abc import Collection

from agent.dispatch.leavings import is_call

# Where something may begin that is not for a person
_OPENING = re.compile(r"`+|~{2,}|~\Z|<|^[ \t]*[\[{]", re.MULTILINE)
_TAG = re.compile(r"</?(?P<name>[a-z_:-]*)(?P<more>[^<>]*)\Z", re.IGNORECASE)
_NAMES = (
    *("toolcalls", "functioncalls", "function", "invoke", "toolresults", "toolresponse"),
    "minimax:toolcall",
)
_KNOWN = tuple(f"{prefix}{name}" for prefix in ("", "antml:") for name in _NAMES)
_NOTES = ("[used tool", "[tool call", "[tool result", "[tool use")
_LANGUAGE = re.compile(r"[a-z_]*\s*", re.IGNORECASE)
_FENCE_CHARS = 3
# The longest of what JSON can be cut in the middle of: \uXXXX
_CUT_CHARS = 6


def certain(text: str, tools: Collection[str]) -> int:
    """How many of its characters nothing that follows can take away."""
    at = 0
    last_line = text.rfind("\n") + 1
    is_in_code = False
    while match := _OPENING.search(text, at):
        mark = match[0].lstrip()
        start = match.end() - len(mark)
        if mark[0] in "`~":
            end = _after_code(text, start, mark, tools)
            # A tag in code stays, and goes where the code never ends
            is_in_code = mark[0] == "`" and start >= last_line and end == match.end()
        elif mark == "<":
            end = None if is_in_code or _may_be_tag(text, start) else start + 1
        else:
            end = None if _may_be_note(text, start) else _after_json(text, start)
        if end is None:
            return match.start()
        at = end
    return len(text)


def _after_code(text: str, start: int, mark: str, tools: Collection[str]) -> int | None:
    """Where it ends; None where it may be a block of calls, or a fence that is yet to come."""
    if len(mark) >= _FENCE_CHARS:
        begin = start + _FENCE_CHARS
        end = text.find(mark[0] * _FENCE_CHARS, begin)
        if end >= 0:
            return end + _FENCE_CHARS
        return None if _may_be_calls(text[begin:], tools) else len(text)
    begin = start + len(mark)
    if begin == len(text):
        return None
    end = text.find("`", begin)
    is_code = mark[0] == "`" and end >= 0 and "\n" not in text[begin:end]
    return end + 1 if is_code else begin


def _may_be_calls(inside: str, tools: Collection[str]) -> bool:
    language = _LANGUAGE.match(inside)
    said = inside[language.end() if language else 0 :].rstrip("`~ \t\n")
    # The first word settles what it is not
    if said and said[0] not in "{[":
        return False
    end = _after_json(said, 0) if said else None
    return end is None or (end == len(said) and is_call(json.loads(said), tools))


def _may_be_tag(text: str, start: int) -> bool:
    match = _TAG.match(text, start)
    if match is None:
        return False
    name = re.sub("[_-]", "", match["name"].lower())
    if match["more"]:
        return any(name in (known, known.removesuffix("s")) for known in _KNOWN)
    return any(known.startswith(name) for known in _KNOWN)


def _may_be_note(text: str, start: int) -> bool:
    if text.find("\n", start) >= 0:
        return False
    begun = text[start : start + max(map(len, _NOTES))].lower()
    return any(begun.startswith(note) or note.startswith(begun) for note in _NOTES)


def _after_json(text: str, start: int) -> int | None:
    """Behind it, or behind a mere bracket; None where it is still open."""
    try:
        return json.JSONDecoder().raw_decode(text, start)[1]
    except RecursionError:
        return start + 1
    except json.JSONDecodeError as err:
        is_cut = err.msg.startswith("Unterminated") or err.pos >= len(text.rstrip()) - _CUT_CHARS
        return None if is_cut else start + 1
