"""Answers in JSON that a grammar of the server holds the model to: a call is valid by construction.

Servers of one's own sample only what a schema allows (llama.cpp, vLLM, SGLang, LM Studio by
`response_format`, Ollama by `format`). The answer is an object with a text, or with calls; whatever
comes of a server that ignored the schema is read as any other answer.
"""

import json
import re
from collections.abc import Mapping, Sequence

import msgspec

from agent.messages import ToolSpec
from agent.providers import service_json
from agent.providers.prompted.calls import WantedCall
from agent.providers.prompted.reader import AnswerReading, PromptedReader
from agent.tools.service_schema import SchemaRules, cleaned

# More calls than these in one answer are a model gone astray
MAX_CALLS = 8
# What grammars cannot hold, or only at a size that takes longer than the answer; the tool checks it
_NOT_HELD = frozenset(
    {"pattern", "format", "minLength", "maxLength", "multipleOf", "uniqueItems", "minItems"}
    | {"exclusiveMinimum", "exclusiveMaximum", "maxItems", "minProperties", "maxProperties"}
    | {"not", "if", "then", "else", "contains", "propertyNames", "dependentSchemas"}
    | {"patternProperties", "unevaluatedProperties", "unevaluatedItems", "examples", "default"}
)
_RULES = SchemaRules(_NOT_HELD, takes_all_of=False)
_SILENT = frozenset({"title", "description"})
_CALLS_BEGIN = re.compile(r'\s*\{\s*"calls"')
# A model may put as many spaces between the first signs as a grammar allows
_MOST_HEAD_CHARS = 400
_TEXT_BEGIN = re.compile(r'\s*\{\s*"answer"\s*:\s*"')
# llama.cpp lets a model put a block of code around it
_FENCE = re.compile(r"\s*```(?:json)?\s*(?=\{)")
# What may stand behind the object: the end of the block, and a last token that a server left in
_END = re.compile(r"\s*(?:```)?\s*(?:<[^<>\s]{1,40}>\s*)?")
_BEGINS_AT_ONCE = re.compile(r"\s*(?:[{`]|\Z)")
_MAY_BE_JSON = re.compile(r"\s*(?:\{|\Z|`{1,3}\Z|```j?s?o?n?\s*(?:\Z|\{))")
# Whole characters of a string: an escape that has not ended waits, and so does half of a pair
_PIECE = re.compile(
    r"""(?:[^"\\] | \\[^u]
    | \\u(?![dD][89abAB])[0-9a-fA-F]{4}
    | \\u[dD][89abAB][0-9a-fA-F]{2}(?:\\u[0-9a-fA-F]{4}|(?=[^\\])|(?=\\[^u])))*""",
    re.DOTALL | re.VERBOSE,
)


class _Call(msgspec.Struct, frozen=True):
    name: str
    arguments: dict[str, object]


class _Answer(msgspec.Struct, frozen=True):
    answer: str | None = None
    calls: tuple[_Call, ...] = ()


def answer_schema(tools: Sequence[ToolSpec]) -> dict[str, object]:
    """Return the schema of an answer: a text, or calls of these tools."""
    text = _object({"answer": {"type": "string"}})
    if not tools:
        return text
    calls = [
        _object(
            {
                "name": {"type": "string", "enum": [spec.name]},
                "arguments": _bare(cleaned(spec.parameters, _RULES)),
            }
        )
        for spec in sorted(tools, key=lambda spec: spec.name)
    ]
    item: dict[str, object] = {"anyOf": calls} if len(calls) > 1 else calls[0]
    wanted = {"type": "array", "items": item, "minItems": 1, "maxItems": MAX_CALLS}
    return {"anyOf": [text, _object({"calls": wanted})]}


def _object(properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _bare(schema: object) -> object:
    """Return a schema without the words that are for the model: they stand in the prompt."""
    if isinstance(schema, list):
        return [_bare(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: {name: _bare(part) for name, part in value.items()}
        if key == "properties" and isinstance(value, Mapping)
        else _bare(value)
        if key not in {"enum", "const"}
        else value
        for key, value in schema.items()
        if key not in _SILENT
    }


class ConstrainedReader:
    """Reads one answer, as `PromptedReader` does.

    Args:
        offered: the tools that the model was told of, by their names.
    """

    def __init__(self, offered: Mapping[str, ToolSpec]) -> None:
        self._offered = offered
        # Takes thoughts and special tokens away before the object; None where there are none
        self._bare: PromptedReader | None = None
        self._said: list[str] = []
        # The same as far as it may be the object
        self._object: list[str] = []
        # Its beginning, until it is known of what form it is
        self._head: str | None = ""
        # The part of the text that is not shown yet; None before its beginning is certain
        self._pending: str | None = None
        # Takes over where the server ignored the schema
        self._plain: PromptedReader | None = None

    @property
    def thought_chars(self) -> int | None:
        return None

    @property
    def thoughts(self) -> str:
        """Return what the model thought before its answer."""
        reader = self._plain or self._bare
        return "" if reader is None else reader.thoughts

    def feed(self, piece: str) -> str:
        """Read a piece and return the text that can be shown now."""
        if self._plain is not None:
            return self._plain.feed(piece)
        self._said.append(piece)
        is_first = self._head == "" and self._pending is None
        if is_first and self._bare is None and not _BEGINS_AT_ONCE.match(piece):
            self._bare = PromptedReader({})
        seen = piece if self._bare is None else self._bare.feed(piece)
        self._object.append(seen)
        if self._pending is not None:
            return self._text(seen)
        return "" if self._head is None else self._begun(self._head + seen)

    def close(self) -> AnswerReading:
        """End the answer and return its reading."""
        if self._plain is not None:
            return self._plain.close()
        if self._bare is not None:
            self._object.append(self._bare.close().text)
        written = _FENCE.sub("", "".join(self._object), count=1).lstrip()
        try:
            found, end = json.JSONDecoder().raw_decode(written)
            told = msgspec.convert(found, _Answer)
        except (msgspec.ValidationError, ValueError, RecursionError):
            return self._unfinished(written)
        if not _END.fullmatch(written[end:]):
            return self._unfinished(written)
        if told.calls:
            return self._called(told.calls, written)
        return AnswerReading(told.answer or "" if self._pending is None else self._text(""))

    def _begun(self, head: str) -> str:
        """Read the beginning, until the form of the answer is known."""
        head = _FENCE.sub("", head, count=1)
        if not _MAY_BE_JSON.match(head):
            return self._fall_back()
        if begun := _TEXT_BEGIN.match(head):
            self._pending = ""
            return self._text(head[begun.end() :])
        self._head = head if len(head) < _MOST_HEAD_CHARS else None
        return ""

    def _called(self, calls: Sequence[_Call], written: str) -> AnswerReading:
        unknown = [call.name for call in calls if call.name not in self._offered]
        if unknown:
            return AnswerReading("", problems=(f"there is no tool {unknown[0]}",))
        wanted = tuple(
            WantedCall(call.name, json.dumps(call.arguments, ensure_ascii=False)) for call in calls
        )
        # What a page or a person wrote in this form is no wish of the model's
        return AnswerReading("", wanted, calls_as_written=(written,), as_text=written)

    def _unfinished(self, written: str) -> AnswerReading:
        """Return the reading of what is no whole object: cut, or no answer of this form."""
        if self._pending is not None:
            # A text that was cut is as good as any other that was
            return AnswerReading(self._text(""))
        if _CALLS_BEGIN.match(written):
            return AnswerReading("", problems=("it is not whole",), is_cut=True)
        text = self._fall_back()
        assert self._plain is not None
        reading = self._plain.close()
        return AnswerReading(
            text + reading.text,
            reading.wanted,
            reading.problems,
            reading.is_cut,
            reading.is_doubtful,
            reading.calls_as_written,
            text + reading.as_text,
        )

    def _fall_back(self) -> str:
        self._plain = PromptedReader(self._offered)
        return self._plain.feed("".join(self._said))

    def _text(self, piece: str) -> str:
        """Return what of the text can be shown now."""
        assert self._pending is not None
        pending = self._pending + piece
        found = _PIECE.match(pending)
        assert found is not None
        # Behind the quotation mark at its end nothing is looked at
        self._pending = '"' if pending[found.end() :].startswith('"') else pending[found.end() :]
        try:
            return service_json.joined_halves(json.loads(f'"{found[0]}"', strict=False))
        except ValueError:
            return ""
