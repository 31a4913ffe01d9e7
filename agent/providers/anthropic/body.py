"""Request in the form of Anthropic messages, with marks for what is worth caching.

Roles alternate, results of tools stand first in a message of the person, and empty texts are
left out: all three are demanded.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby

from msgspec import Struct, structs

from agent.messages import ChatMessage, Role, ToolCall, ToolSpec
from agent.providers import service_json
from agent.providers.base import ChatRequest
from agent.providers.call_ids import renamed
from agent.providers.wire import Sampling
from agent.tools.service_schema import FULL, cleaned

Json = dict[str, object]

_CACHED: Json = {"type": "ephemeral"}
# What stands where a person sent nothing but blanks: an empty text is refused
_NOTHING = "(nothing)"
# Ids of calls that are taken; others come from other services
_ID = re.compile("[A-Za-z0-9_-]{1,64}")

# DeepSeek's, of a history without thoughts, and Anthropic's, which names the way out
_NO_THOUGHTS = re.compile(
    r"thinking\b.{0,60}must be passed back|must start with a thinking block", re.IGNORECASE
)


class AnthropicDialect(Struct, frozen=True):
    """The parameters that models differ in."""

    takes_temperature: bool = True
    takes_cache_marks: bool = True
    # A history, which has no thoughts, is refused otherwise
    may_think: bool = True

    def after_refusal(self, complaint: str) -> "AnthropicDialect | None":
        """Return the dialect to try next; None if `complaint` names nothing that can change."""
        if "temperature" in complaint and self.takes_temperature:
            return structs.replace(self, takes_temperature=False)
        if "cache_control" in complaint and self.takes_cache_marks:
            return structs.replace(self, takes_cache_marks=False)
        if self.may_think and _NO_THOUGHTS.search(complaint):
            return structs.replace(self, may_think=False)
        return None


def encode(request: ChatRequest, sampling: Sampling, dialect: AnthropicDialect, wire: str) -> bytes:
    """Encode the body; the same request gives the same bytes, so that its start can be cached."""
    system: list[Json] = [{"type": "text", "text": message.text} for message in _system(request)]
    messages = _turns(request.messages, wire, sampling.model)
    if dialect.takes_cache_marks:
        _mark(system, messages)
    body: Json = {"model": sampling.model, "max_tokens": sampling.max_tokens}
    if request.tools:
        body["tools"] = [_tool(spec) for spec in sorted(request.tools, key=lambda spec: spec.name)]
    if system:
        body["system"] = system
    body["messages"] = messages
    if dialect.takes_temperature:
        # Its scale ends at 1
        body["temperature"] = min(sampling.temperature, 1.0)
    if not dialect.may_think:
        body["thinking"] = {"type": "disabled"}
    body["stream"] = True
    return service_json.encode(body)


def _system(request: ChatRequest) -> Iterator[ChatMessage]:
    return (m for m in request.messages if m.role is Role.SYSTEM and m.text.strip())


def _mark(system: list[Json], messages: list[Json]) -> None:
    """The first system text, behind the tools, is the same for weeks; the last message grows."""
    if system:
        system[0]["cache_control"] = _CACHED
    content = messages[-1]["content"] if messages else None
    if isinstance(content, list) and len(messages) > 1:
        content[-1] = {**content[-1], "cache_control": _CACHED}


def _tool(spec: ToolSpec) -> Json:
    return {
        "name": spec.name,
        "description": spec.description,
        "input_schema": cleaned(spec.parameters, FULL),
    }


def _turns(messages: Sequence[ChatMessage], wire: str, model: str) -> list[Json]:
    is_echoed = partial(_is_echoed, wire=wire, model=model)
    known = renamed(messages, _ID, is_echoed)
    said = [message for message in known if message.role is not Role.SYSTEM]
    turns: list[Json] = []
    for is_assistant, together in groupby(said, lambda message: message.role is Role.ASSISTANT):
        if is_assistant:
            blocks = [block for message in together for block in _answer(message, wire, model)]
        else:
            blocks = _asked(list(together))
        if blocks:
            turns.append({"role": "assistant" if is_assistant else "user", "content": blocks})
    return turns


def _asked(messages: Sequence[ChatMessage]) -> list[Json]:
    results = [_result(message) for message in messages if message.role is Role.TOOL]
    persons = [message for message in messages if message.role is Role.USER]
    said = [block for message in persons for block in _words(message)]
    return [*results, *said] or [{"type": "text", "text": _NOTHING}]


def _words(message: ChatMessage) -> Iterator[Json]:
    for image in message.images:
        source = {"type": "base64", "media_type": image.media_type, "data": image.data_base64}
        yield {"type": "image", "source": source}
    if message.text.strip():
        yield {"type": "text", "text": message.text}


def _result(message: ChatMessage) -> Json:
    block: Json = {"type": "tool_result", "tool_use_id": message.call_id}
    if message.text.strip():
        block["content"] = message.text
    if message.is_error:
        block["is_error"] = True
    return block


def _is_echoed(message: ChatMessage, wire: str, model: str) -> bool:
    echo = message.echo
    return echo is not None and (echo.wire, echo.model) == (wire, model)


def _answer(message: ChatMessage, wire: str, model: str) -> list[Json]:
    echo = message.echo
    if echo is not None and _is_echoed(message, wire, model):
        said = service_json.parse(echo.content_json)
        if isinstance(said, list):
            return said
    text = message.text.rstrip()
    words: list[Json] = [{"type": "text", "text": text}] if text else []
    return [*words, *(_call(call) for call in message.tool_calls)]


def _call(call: ToolCall) -> Json:
    return {
        "type": "tool_use",
        "id": call.call_id,
        "name": call.name,
        "input": service_json.object_in(call.arguments_json),
    }
