"""Conversation with tools for a model that takes none: calls and results as text.

Whatever comes from elsewhere is written so that nothing in it looks like a call. The same request
gives the same words, so that services can cache their beginning.
"""

import json
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from agent.messages import ChatMessage, Role, ToolCall, ToolSpec
from agent.passage import Passage, echo, joined, lowest
from agent.providers import service_json
from agent.providers.base import ChatRequest
from agent.providers.message_order import well_formed
from agent.providers.prompted.constrained import answer_schema
from agent.providers.prompted.marks import defused
from agent.tools.service_schema import FULL, cleaned

# Of an answer that could not be read, enough to see what was wrong
MAX_REPEATED_CHARS = 8000

_PROTOCOL = """\
## How you use tools
To use a tool, write exactly this and nothing after it:
<tool_call>
{"name": "the tool's name", "arguments": {"its": "arguments"}}
</tool_call>
Valid JSON between the two marks, one such block for each call; several may follow one another. \
Then stop: the results come to you as <tool_result> blocks. Never write a result yourself, and \
never say that something was done before its result says so. Where no tool is needed, answer in \
plain words. To show somebody what a call looks like, put it in a block of code: there it is not \
used.

## Tools"""
_REPAIR = (
    "Your tool call was not used, and neither was any other in that answer: {problem}. Write all "
    "of them again, each as JSON with name and arguments between <tool_call> and </tool_call>, or "
    "answer without a tool."
)
_JSON_PROTOCOL = """\
## How you answer
Your answer is one JSON object and nothing else. Either a text for the person:
{"answer": "your text"}
or calls of tools, when a tool is needed:
{"calls": [{"name": "the tool's name", "arguments": {"its": "arguments"}}]}
Then stop: the results come to you as <tool_result> blocks, and you answer again. Never say that \
something was done before its result says so. Where no tool is needed, give an answer.

## Tools"""
_JSON_REPAIR = (
    "Your calls were not used: {problem}. Write all of them again as one JSON object with calls, "
    "or give an answer."
)
# Says nothing to a model that was told the schema of an object
_SILENT = frozenset({"type", "title", "additionalProperties"})


class WordsForm(Struct, frozen=True):
    """Form in which a model writes its calls.

    Args:
        is_json: each of its answers is one object, of the schema that goes with the request.
    """

    protocol: str
    repair: str
    is_json: bool = False


MARKED = WordsForm(_PROTOCOL, _REPAIR)
CONSTRAINED = WordsForm(_JSON_PROTOCOL, _JSON_REPAIR, is_json=True)


def in_words(request: ChatRequest, form: WordsForm = MARKED) -> ChatRequest:
    """Return the same request without anything that needs a service with tools."""
    messages = well_formed(request.messages)
    system = [_defused(message) for message in messages if message.role is Role.SYSTEM]
    others = (message for message in messages if message.role is not Role.SYSTEM)
    said = list(_told(others, form))
    if request.tools:
        # After what never changes, before what changes in every turn
        system.insert(1, ChatMessage.system(_described(request.tools, form)))
    schema = answer_schema(request.tools) if form.is_json else None
    return replace(request, messages=(*system, *_joined(said)), tools=(), answer_schema=schema)


def with_repair(
    request: ChatRequest, answer: str, problem: str, form: WordsForm = MARKED
) -> ChatRequest:
    """Return a request in words, with an answer whose call could not be read, and why."""
    # Its own words as they were: what is changed in them it would copy
    said = ChatMessage.assistant(echo(answer[:MAX_REPEATED_CHARS]))
    asked = ChatMessage.user(
        echo(_result("error", form.repair.format(problem=problem), is_error=True))
    )
    return replace(request, messages=(*request.messages, said, asked))


def _described(tools: Sequence[ToolSpec], form: WordsForm) -> Passage:
    lines = [form.protocol]
    for spec in sorted(tools, key=lambda spec: spec.name):
        schema = cleaned(spec.parameters, FULL)
        told = {key: value for key, value in schema.items() if key not in _SILENT}
        arguments = _compact(told) if told.get("properties") else "none"
        lines.append(f"- {spec.name}: {defused(spec.description)}\n  arguments: {arguments}")
    least = lowest(spec.about for spec in tools)
    return least.saying("\n".join(lines))


def _told(messages: Iterator[ChatMessage], form: WordsForm) -> Iterator[ChatMessage]:
    for message in messages:
        if message.role is Role.TOOL:
            text = _result(message.tool_name, defused(message.text), is_error=message.is_error)
            yield ChatMessage.user(message.words.saying(text))
        elif form.is_json and message.role is Role.ASSISTANT:
            yield ChatMessage.assistant(message.words.saying(_as_json(message)))
        elif message.tool_calls:
            parts = [defused(message.text), *map(_call, message.tool_calls)]
            text = "\n".join(filter(None, parts))
            yield ChatMessage.assistant(message.words.saying(text))
        else:
            yield replace(_defused(message), echo=None)


def _joined(messages: Sequence[ChatMessage]) -> Iterator[ChatMessage]:
    """Join messages of a person that follow one another: results are theirs here."""
    waiting: ChatMessage | None = None
    for message in messages:
        if waiting is None:
            waiting = message
        elif waiting.role is message.role is Role.USER:
            both = joined("\n\n", [one.words for one in (waiting, message) if one.text])
            waiting = replace(waiting, words=both, images=(*waiting.images, *message.images))
        else:
            yield waiting
            waiting = message
    if waiting is not None:
        yield waiting


def _defused(message: ChatMessage) -> ChatMessage:
    return message.saying(defused(message.text))


def _as_json(message: ChatMessage) -> str:
    """Return a past answer in the form that the next one has to have."""
    if not message.tool_calls:
        return _compact({"answer": message.text})
    return _compact({"calls": [_plain_call(call) for call in message.tool_calls]})


def _plain_call(call: ToolCall) -> dict[str, object]:
    return {"name": call.name, "arguments": service_json.object_in(call.arguments_json)}


def _call(call: ToolCall) -> str:
    body = _compact(_plain_call(call))
    return f"<tool_call>\n{body}\n</tool_call>"


def _result(tool: str, text: str, *, is_error: bool) -> str:
    status = ' status="error"' if is_error else ""
    return f'<tool_result name="{tool}"{status}>\n{text}\n</tool_result>'


def _compact(value: object) -> str:
    """Return JSON in which nothing looks like a mark, with the same meaning."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
