"""Messages, tools and results as tests write them down: their texts are the owner's unless told."""

from collections.abc import Mapping
from typing import Any

import msgspec

from agent.messages import ChatMessage, Echo, Effect, Provenance, ToolCall, ToolResult, ToolSpec
from agent.passage import Fact, Passage, fields

OWNER = Provenance.OWNER


def words(text: str, provenance: Provenance = OWNER, source: str = "") -> Passage:
    return Passage(text, provenance, source)


def system_said(text: str) -> ChatMessage:
    return ChatMessage.system(words(text))


def user_said(text: str, provenance: Provenance = OWNER) -> ChatMessage:
    return ChatMessage.user(words(text, provenance))


def assistant_said(
    text: str, tool_calls: tuple[ToolCall, ...] = (), echo: Echo | None = None
) -> ChatMessage:
    return ChatMessage.assistant(words(text), tool_calls, echo)


def tool_said(call: ToolCall, text: str, *, is_error: bool = False) -> ChatMessage:
    return ChatMessage.tool(call, words(text), is_error=is_error)


def spec_of(name: str, about: str, parameters: Mapping[str, object], effect: Effect) -> ToolSpec:
    return ToolSpec(name, words(about), parameters, effect)


def tool_result(
    *, success: bool, text: str, provenance: Provenance = OWNER, source: str = ""
) -> ToolResult:
    return ToolResult(success, words(text, provenance, source))


def plainly(told: Fact) -> Any:
    """The same as a model reads it, without the origins."""
    return msgspec.json.decode(fields(told).text)
