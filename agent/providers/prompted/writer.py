"""Conversation with tools for a model that takes none: calls and results as text.

Whatever comes from elsewhere is written so that nothing in it looks like a call. The same request
gives the same words, so that services can cache their beginning.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from agent.messages import ChatMessage, Role, ToolCall, ToolSpec
from agent.passage import Passage, echo, joined, lowest
from agent.providers import service_json
from agent.providers.base import ChatRequest
from agent.providers.message_order import well_formed
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
# Says nothing to a model that was told the schema of an object
_SILENT = frozenset({"type", "title", "additionalProperties"})


def in_words(request: ChatRequest) -> ChatRequest:
    """Return the same request without anything that needs a service with tools."""
    messages = well_formed(request.messages)
    system = [_defused(message) for message in messages if message.role is Role.SYSTEM]
    said = list(_told(message for message in messages if message.role is not Role.SYSTEM))
    if request.tools:
        # After what never changes, before what changes in every turn
        system.insert(1, ChatMessage.system(_described(request.tools)))
    return replace(request, messages=(*system, *_joined(said)), tools=())


def with_repair(request: ChatRequest, answer: str, problem: str) -> ChatRequest:
    """Return a request in words, with an answer whose call could not be read, and why."""
    # Its own words as they were: what is changed in them it would copy
    said = ChatMessage.assistant(echo(answer[:MAX_REPEATED_CHARS]))
    asked = ChatMessage.user(echo(_result("error", _REPAIR.format(problem=problem), is_error=True)))
    return replace(request, messages=(*request.messages, said, asked))


def _described(tools: Sequence[ToolSpec]) -> Passage:
    lines = [_PROTOCOL]
    for spec in sorted(tools, key=lambda spec: spec.name):
        schema = cleaned(spec.parameters, FULL)
        told = {key: value for key, value in schema.items() if key not in _SILENT}
        arguments = _compact(told) if told.get("properties") else "none"
        lines.append(f"- {spec.name}: {defused(spec.description)}\n  arguments: {arguments}")
    least = lowest(spec.about for spec in tools)
    return least.saying("\n".join(lines))


def _told(messages: Iterator[ChatMessage]) -> Iterator[ChatMessage]:
    for message in messages:
        if message.role is Role.TOOL:
            text = _result(message.tool_name, defused(message.text), is_error=message.is_error)
            yield ChatMessage.user(message.words.saying(text))
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


def _call(call: ToolCall) -> str:
    body = _compact({"name": call.name, "arguments": service_json.object_in(call.arguments_json)})
    return f"<tool_call>\n{body}\n</tool_call>"


def _result(tool: str, text: str, *, is_error: bool) -> str:
    status = ' status="error"' if is_error else ""
    return f'<tool_result name="{tool}"{status}>\n{text}\n</tool_result>'


def _compact(value: object) -> str:
    """Return JSON in which nothing looks like a mark, with the same meaning."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
