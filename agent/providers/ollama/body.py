"""A request in Ollama's own form.

The size of the window is always said, and cutting the conversation to it is forbidden: left to
itself, Ollama drops the beginning in silence and answers without it.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby

from msgspec import Struct, structs

from agent.messages import ChatMessage, Role, ToolCall, ToolSpec
from agent.providers import service_json
from agent.providers.base import ChatRequest
from agent.providers.wire import Sampling
from agent.tools.service_schema import GEMINI_PLAIN, cleaned

Json = dict[str, object]

# Loading a model again takes up to a minute; people come back within half an hour
KEEP_ALIVE = "30m"
# It passes on as little of a schema as Gemini once read, but any value in an enumeration
_RULES = structs.replace(GEMINI_PLAIN, takes_any_enum=True)
# Whatever is wrong with it: the model can be asked in words
_NO_SCHEMA = re.compile(r"\bformat\b|grammar|schema", re.IGNORECASE)


class OllamaDialect(Struct, frozen=True):
    """Differences between models."""

    takes_think: bool = True
    takes_schema: bool = True

    def after_refusal(self, complaint: str) -> "OllamaDialect | None":
        """Return the dialect to try next; None if `complaint` names nothing that can change."""
        if "think" in complaint.lower() and self.takes_think:
            return structs.replace(self, takes_think=False)
        if self.takes_schema and _NO_SCHEMA.search(complaint):
            return structs.replace(self, takes_schema=False)
        return None


def encode(
    request: ChatRequest, sampling: Sampling, dialect: OllamaDialect, wire: str, context_tokens: int
) -> bytes:
    """Encode the body; the same request gives the same bytes, so its start is not read again."""
    body: Json = {"model": sampling.model}
    if request.tools:
        body["tools"] = [_tool(spec) for spec in sorted(request.tools, key=lambda spec: spec.name)]
    body["messages"] = list(_messages(request.messages, wire, sampling.model))
    if request.answer_schema is not None and dialect.takes_schema:
        body["format"] = request.answer_schema
    body["stream"] = True
    if dialect.takes_think:
        # A small machine takes minutes to think, and what it thinks is not shown
        body["think"] = False
    body["keep_alive"] = KEEP_ALIVE
    # Too long is to be an error: older releases know neither word, and their counts are looked at
    body["truncate"] = False
    body["shift"] = False
    body["options"] = {
        "num_ctx": context_tokens,
        "num_predict": sampling.max_tokens,
        "temperature": sampling.temperature,
    }
    return service_json.encode(body)


def _tool(spec: ToolSpec) -> Json:
    function = {
        "name": spec.name,
        "description": spec.description,
        "parameters": {"properties": {}, **cleaned(spec.parameters, _RULES)},
    }
    return {"type": "function", "function": function}


def _messages(messages: Sequence[ChatMessage], wire: str, model: str) -> Iterator[Json]:
    """Yield one system prompt at the beginning, then alternating roles, as templates want."""
    for role, together in groupby(messages, lambda message: message.role):
        if role in {Role.SYSTEM, Role.USER}:
            yield _joined(role, list(together))
        else:
            for message in together:
                is_result = role is Role.TOOL
                yield _result(message) if is_result else _answer(message, wire, model)


def _joined(role: Role, messages: Sequence[ChatMessage]) -> Json:
    texts = [message.text for message in messages if message.text.strip()]
    joined: Json = {"role": role.value, "content": "\n\n".join(texts)}
    if images := [image.data_base64 for message in messages for image in message.images]:
        joined["images"] = images
    return joined


def _result(message: ChatMessage) -> Json:
    # There is no field that says so
    text = f"error: {message.text}" if message.is_error else message.text
    return {"role": "tool", "content": text, "tool_name": message.tool_name}


def _answer(message: ChatMessage, wire: str, model: str) -> Json:
    said: Json = {"role": "assistant", "content": message.text}
    if thinking := _thinking(message, wire, model):
        said["thinking"] = thinking
    if message.tool_calls:
        said["tool_calls"] = [_call(call) for call in message.tool_calls]
    return said


def _thinking(message: ChatMessage, wire: str, model: str) -> str:
    echo = message.echo
    if echo is not None and (echo.wire, echo.model) == (wire, model):
        with suppress(service_json.WireError):
            said = service_json.parse(echo.content_json)
            return said if isinstance(said, str) else ""
    return ""


def _call(call: ToolCall) -> Json:
    return {
        "function": {"name": call.name, "arguments": service_json.object_in(call.arguments_json)}
    }
