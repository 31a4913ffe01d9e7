"""One tool call in the text of a model, in any of the forms that models write it in.

Complete or not at all: what was cut is told apart from what is only badly written.
"""

import json
import re
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from agent.messages import ToolSpec
from agent.providers import service_json
from agent.providers.answer import bare
from agent.providers.prompted import marks
from agent.providers.prompted.lenient import LenientReader, ParsedValue, Unreadable

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
# Some models put it around a value that holds marks
_RAW = re.compile(r"\s*+<!\[CDATA\[(.*?)\]\]>\s*+(?=</param>)", re.DOTALL)
# Between the name of a tool and its arguments
_AFTER_NAME = "<tool_sep>"
_SPACE = re.compile(r"\s*+")
_KINDS: Mapping[type, str] = {
    dict: "object",
    list: "array",
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
}


def attributes_of(rest: str) -> dict[str, str]:
    """Return the attributes in a mark, after its name."""
    return {
        found[1]: found[2] if found[2] is not None else found[3]
        for found in _ATTRIBUTE.finditer(rest)
    }


def pairs_at(text: str, place: int, tool: ToolSpec | None) -> tuple[dict[str, object], int]:
    """Return the arguments from `place` on, and their end.

    Raises:
        Unreadable: one of them does not end, or appears twice.
    """
    written: dict[str, str] = {}
    while begin := _begin_at(text, place):
        ending = f"</{begin['mark']}>"
        raw = _RAW.match(text, begin.end()) if begin["mark"] == "param" else None
        end = text.find(ending, raw.end() if raw else begin.end())
        if end < 0:
            raise Unreadable(f"the end of its {begin['name']} is missing", len(text))
        if raw is None and _begins_other(text[begin.end() : end], begin, tool):
            raise Unreadable(f"the end of its {begin['name']} is missing", end)
        if begin["name"] in written or len(written) == MAX_PARAMETERS:
            raise Unreadable(f"{begin['name']} appears twice, or there are too many arguments", end)
        written[begin["name"]] = raw[1] if raw else _without_frame(text[begin.end() : end])
        place = end + len(ending)
    space = _SPACE.match(text, place)
    return typed(written, tool), space.end() if space else place


def typed(written: Mapping[str, str], tool: ToolSpec | None) -> dict[str, object]:
    """Return texts as the values that the tool's schema asks for."""
    known = _properties(tool)
    return {name: _value(text, known.get(name)) for name, text in written.items()}


def _properties(tool: ToolSpec | None) -> Mapping[str, object]:
    properties = tool.parameters.get("properties") if tool else None
    return properties if isinstance(properties, Mapping) else {}


def _begins_other(inside: str, begin: re.Match[str], tool: ToolSpec | None) -> bool:
    """Return true if another argument of the tool begins in what was taken for a value."""
    known = _properties(tool)
    return any(
        other["mark"] == begin["mark"] and other["name"] in known
        for other in _PARAMETER.finditer(inside)
    )


def _begin_at(text: str, place: int) -> re.Match[str] | None:
    return _PARAMETER.match(text, place) or _KEY.match(text, place) or _ELEMENT.match(text, place)


def _without_frame(text: str) -> str:
    """Remove the line breaks around a value."""
    return text.removeprefix("\n").removesuffix("\n")


def _value(text: str, schema: object) -> object:
    kinds = _kinds(schema) if isinstance(schema, Mapping) else frozenset({"string"})
    if kinds == {"string"}:
        return text
    reader = LenientReader(text)
    try:
        found = reader.value(0)
    except Unreadable:
        return text
    if reader.after_space(found.end) < len(text):
        return text
    # A text may look like any other value
    return text if "string" in kinds and not _is_one_of(found.value, kinds) else found.value


def _kinds(schema: Mapping[str, object]) -> frozenset[str]:
    """Return the types that a schema allows, its alternatives too; none if it names none."""
    said = schema.get("type")
    told = said if isinstance(said, list) else [said]
    kinds = {one for one in told if isinstance(one, str)}
    for key in ("anyOf", "oneOf"):
        alternatives = schema.get(key)
        for one in alternatives if isinstance(alternatives, list) else ():
            kinds |= _kinds(one) if isinstance(one, Mapping) else set()
    return frozenset(kinds)


def _is_one_of(value: object, kinds: frozenset[str]) -> bool:
    """Return true if a value, which is no text, is of one of the types of a schema."""
    if isinstance(value, int) and not isinstance(value, bool) and "integer" in kinds:
        return True
    return _KINDS.get(type(value)) in kinds


# Names as long as services allow them
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}(?![\w.-])")
# An object that names a tool at its beginning
NAMED_AT_ONCE = re.compile(
    r"[\[{\s]{1,20}(?:\"type\"\s*:\s*\"function\"\s*,\s*)?(?:\"function\"\s*:\s*\{\s*)?"
    r"\"(?:name|function|tool|tool_name)\"\s*:\s*\"([A-Za-z_][\w.-]{0,63})\""
)
_NAME_KEYS = ("name", "tool", "tool_name", "function")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "params")
_BESIDE = frozenset({"id", "type", "tool_call_id"})
_BLOCK = re.compile(r"\s*+```[a-z_]{0,20}[ \t]*\r?\n", re.IGNORECASE)
_BRACES_TOO_MANY = re.compile(r"[\s}]{0,20}(?=<)")

Offered = Mapping[str, ToolSpec]


def typed_call(wanted: "WantedCall", offered: Offered) -> "WantedCall":
    """Return a call whose arguments are texts, with the values that its tool asks for."""
    tool = offered.get(wanted.name)
    arguments = service_json.object_in(wanted.arguments_json)
    return wanted_call(wanted.name, _typed_members(arguments, tool.parameters if tool else {}))


def _typed_members(members: Mapping[str, object], schema: object) -> dict[str, object]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    known = properties if isinstance(properties, Mapping) else {}
    return {name: _typed(value, known.get(name)) for name, value in members.items()}


def _typed(value: object, schema: object) -> object:
    if isinstance(value, dict):
        return _typed_members(value, schema)
    if isinstance(value, list):
        entries = schema.get("items") if isinstance(schema, Mapping) else None
        return [_typed(one, entries) for one in value]
    return _value(value, schema) if isinstance(value, str) else value


class WantedCall(Struct, frozen=True):
    """Tool call that the model wants."""

    name: str
    arguments_json: str


class TakenCalls(Struct, frozen=True):
    """Text between two marks, and the place at which the answer continues.

    Args:
        problem: why it is no call, in words for the model; empty if it is one.
        is_cut: the rest of it is not there.
        is_open: it is whole, but the mark at its end is not there.
        is_frame: it is no call and no text, only marks around text.
        shown: text for people that stands before the calls, inside the same marks.
    """

    wanted: tuple[WantedCall, ...]
    end: int
    problem: str = ""
    is_cut: bool = False
    is_open: bool = False
    is_frame: bool = False
    shown: str = ""

    @property
    def is_nothing(self) -> bool:
        """Return true if what began like a call is text."""
        return not (self.wanted or self.problem or self.is_cut or self.is_frame)


def take(text: str, mark: re.Match[str], offered: Offered) -> TakenCalls:
    """Return the call that begins with `mark`."""
    rest = mark["rest"]
    attributes = attributes_of(rest)
    tool = attributes.pop("name", "")
    if marks.kind_of(mark) in marks.NAMED:
        closing = marks.END_OF_NAMED
        tool = tool or rest.strip("= \n\"'")
        if not NAME.fullmatch(tool):
            return _refused(text, mark.end(), closing, "it does not name a tool")
    else:
        closing = marks.END_OF_CALL
    if rest.endswith("/"):
        return _from_attributes(tool, attributes, mark.end(), offered)
    return _Body(text, closing, tool, offered).taken(mark.end())


def take_block(text: str, start: int, offered: Offered) -> TakenCalls:
    """Return the call in a code block named after calls; `start` is after its first line."""
    mark = marks.MARK.match(text, LenientReader(text).after_space(start))
    if mark is None or not begins_call(mark):
        return _Body(text, marks.END_OF_BLOCK, "", offered).taken(start)
    taken = take(text, mark, offered)
    end = marks.END_OF_BLOCK.match(text, LenientReader(text).after_space(taken.end))
    return replace(taken, end=end.end() if end else taken.end)


def begins_call(mark: re.Match[str]) -> bool:
    return not mark["end"] and marks.kind_of(mark) in marks.CALLS | marks.NAMED


class _Body:
    """Text between the two marks of a call."""

    def __init__(self, text: str, closing: re.Pattern[str], tool: str, offered: Offered) -> None:
        self._text = text
        self._closing = closing
        self._tool = tool
        self._offered = offered
        self._reader = LenientReader(text, closing)

    def taken(self, start: int) -> TakenCalls:
        block = _BLOCK.match(self._text, start)
        place = self._reader.after_space(block.end() if block else start)
        inner = marks.MARK.match(self._text, place)
        if inner is not None and not inner["end"] and not self._tool:
            # The marks inside are the call's own
            return TakenCalls((), place)
        try:
            return self._read(place)
        except Unreadable as err:
            return _refused(self._text, max(err.place, start), self._closing, str(err))

    def _read(self, place: int) -> TakenCalls:
        if not self._tool and (name := NAME.match(self._text, place)):
            self._tool = name[0]
            place = self._reader.after_space(name.end())
            if self._text.startswith(_AFTER_NAME, place):
                place = self._reader.after_space(place + len(_AFTER_NAME))
        if self._text[place : place + 1] in {"{", "["}:
            return self._from_json(place)
        if not self._tool:
            raise Unreadable("it is not JSON", place)
        arguments, place = pairs_at(self._text, place, self._offered.get(self._tool))
        return self._ended((wanted_call(self._tool, arguments),), place, must_close=True)

    def _from_json(self, place: int) -> TakenCalls:
        wanted: list[WantedCall] = []
        # Some models write one object after the other
        while self._text.startswith(("{", "["), place):
            found: ParsedValue = self._reader.value(place)
            if self._tool:
                wanted.append(named_call(self._tool, found.value))
            else:
                wanted += calls_in(found.value, found.end)
            place = self._reader.after_space(found.end)
        return self._ended(tuple(wanted), place)

    def _ended(
        self, wanted: tuple[WantedCall, ...], place: int, *, must_close: bool = False
    ) -> TakenCalls:
        if self._closing is not marks.END_OF_BLOCK and self._text.startswith("```", place):
            place = self._reader.after_space(place + len("```"))
        braces = _BRACES_TOO_MANY.match(self._text, place)
        end = self._closing.match(self._text, braces.end() if braces else place)
        if end is not None:
            return TakenCalls(wanted, end.end())
        following = marks.MARK.match(self._text, place)
        is_last = place == len(self._text) or (following is not None and begins_call(following))
        if is_last and not must_close:
            return TakenCalls(wanted, place, is_open=True)
        raise Unreadable("something else follows it", place)


def _refused(text: str, place: int, closing: re.Pattern[str], problem: str) -> TakenCalls:
    end = closing.search(text, place)
    if end is None:
        return TakenCalls((), len(text), "its end is missing", is_cut=True)
    return TakenCalls((), end.end(), problem)


def _from_attributes(
    tool: str, attributes: dict[str, str], end: int, offered: Offered
) -> TakenCalls:
    if not NAME.fullmatch(tool):
        return TakenCalls((), end, "it does not name a tool")
    written = next((attributes[key] for key in _ARGUMENT_KEYS if key in attributes), None)
    if written is None:
        return TakenCalls((wanted_call(tool, typed(attributes, offered.get(tool))),), end)
    try:
        return TakenCalls((named_call(tool, LenientReader(written).value(0).value),), end)
    except Unreadable as err:
        return TakenCalls((), end, str(err))


def calls_in(value: object, place: int = 0) -> Iterator[WantedCall]:
    """Yield the calls that an object, or a list of objects, describes."""
    value = _listed(value)
    for one in value if isinstance(value, list) else [value]:
        if not isinstance(one, dict):
            raise Unreadable("it is not an object with name and arguments", place)
        described = one["function"] if isinstance(one.get("function"), dict) else one
        name = next((described[key] for key in _NAME_KEYS if key in described), None)
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise Unreadable("it does not name a tool", place)
        written = (described[key] for key in _ARGUMENT_KEYS if key in described)
        arguments: object = next(written, {})
        yield named_call(name, arguments)


def _listed(value: object) -> object:
    """Return the list of calls in an object that holds nothing else."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(value.get("tool_calls"), list):
        return value["tool_calls"]
    return value


def named_call(tool: str, arguments: object) -> WantedCall:
    """Return a call with its arguments; some models write them as a string of JSON."""
    if isinstance(arguments, str):
        arguments = LenientReader(arguments).value(0).value if arguments.strip() else {}
    if not isinstance(arguments, dict):
        raise Unreadable("its arguments are not an object", 0)
    return wanted_call(tool, arguments)


def wanted_call(tool: str, arguments: Mapping[str, object]) -> WantedCall:
    """Return the call of a tool, without the module that some models put before its name."""
    return WantedCall(
        bare(tool), service_json.joined_halves(json.dumps(arguments, ensure_ascii=False))
    )


def is_nothing_else(value: object) -> bool:
    """Return true if objects hold a name and arguments and nothing that a call does not have."""
    value = _listed(value)
    for one in value if isinstance(value, list) else [value]:
        if not isinstance(one, dict):
            return False
        described = one["function"] if isinstance(one.get("function"), dict) else one
        allowed = _BESIDE.union(_NAME_KEYS, _ARGUMENT_KEYS)
        has_arguments = not set(described).isdisjoint(_ARGUMENT_KEYS)
        if not has_arguments or not allowed.issuperset(one) or not allowed.issuperset(described):
            return False
    return bool(value)
