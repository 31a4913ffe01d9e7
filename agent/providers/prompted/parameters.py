"""Arguments that a model writes as marks of their own instead of JSON.

They are texts; which of them are numbers or lists, the tool's schema knows.
"""

import re
from collections.abc import Mapping

from agent.messages import ToolSpec
from agent.providers.prompted.lenient import LenientReader, Unreadable

# More than any tool takes; a model gone astray writes them without end
MAX_PARAMETERS = 64

_ATTRIBUTE = re.compile(r"([A-Za-z_][\w-]{0,63})\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_PARAMETER = re.compile(
    r"\s*+<(?P<mark>(?:antml:)?(?:parameter|param|arg))(?:\s+name\s*=\s*|=)"
    r"[\"']?(?P<name>[A-Za-z_][\w-]{0,63})[\"']?(?:\s[^<>]{0,100})?>"
)
_KEY = re.compile(
    r"\s*+<arg_key>\s*(?P<name>[A-Za-z_][\w-]{0,63})\s*</arg_key>\s*+<(?P<mark>arg_value)>"
)
_ELEMENT = re.compile(r"\s*+<(?P<mark>(?P<name>[A-Za-z_][\w-]{0,63}))>")
_SPACE = re.compile(r"\s*+")


def attributes_of(rest: str) -> dict[str, str]:
    """Return the attributes in a mark, after its name."""
    return {
        found[1]: found[2] if found[2] is not None else found[3]
        for found in _ATTRIBUTE.finditer(rest)
    }


def pairs_at(text: str, place: int, tool: ToolSpec | None) -> tuple[dict[str, object], int]:
    """The arguments from `place` on, and where they end.

    Raises:
        Unreadable: one of them does not end, or is there twice.
    """
    written: dict[str, str] = {}
    while begin := _begin_at(text, place):
        ending = f"</{begin['mark']}>"
        end = text.find(ending, begin.end())
        if end < 0:
            raise Unreadable(f"the end of its {begin['name']} is missing", len(text))
        if begin["name"] in written or len(written) == MAX_PARAMETERS:
            raise Unreadable(f"{begin['name']} is there twice, or one too many", end)
        written[begin["name"]] = _without_frame(text[begin.end() : end])
        place = end + len(ending)
    space = _SPACE.match(text, place)
    return typed(written, tool), space.end() if space else place


def typed(written: Mapping[str, str], tool: ToolSpec | None) -> dict[str, object]:
    """Texts as the values that the tool's schema asks for."""
    properties = tool.parameters.get("properties") if tool else None
    known = properties if isinstance(properties, Mapping) else {}
    return {name: _value(text, known.get(name)) for name, text in written.items()}


def _begin_at(text: str, place: int) -> re.Match[str] | None:
    return _PARAMETER.match(text, place) or _KEY.match(text, place) or _ELEMENT.match(text, place)


def _without_frame(text: str) -> str:
    """Without the line breaks that only set it apart."""
    return text.removeprefix("\n").removesuffix("\n")


def _value(text: str, schema: object) -> object:
    kind = schema.get("type") if isinstance(schema, Mapping) else "string"
    if kind == "string":
        return text
    reader = LenientReader(text)
    try:
        found = reader.value(0)
    except Unreadable:
        return text
    return found.value if reader.after_space(found.end) == len(text) else text
