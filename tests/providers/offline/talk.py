"""A conversation with the offline provider, as the agent would have it."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent.messages import ToolCall, ToolSpec
from agent.providers.base import ChatRequest, ChatResponse
from agent.providers.offline.provider import OfflineProvider
from tests.fakes.said import assistant_said, system_said, tool_said, user_said
from tests.providers.offline.toolset import TOOLS, compact

Answer = Callable[[str, Mapping[str, Any]], str]


class Talk:
    """Keeps the messages; `results` says what a tool returns, by its name."""

    def __init__(
        self,
        tools: Sequence[ToolSpec] = TOOLS,
        results: Mapping[str, Any] | None = None,
        provider: OfflineProvider | None = None,
    ) -> None:
        self.tools = tuple(tools)
        self.results = results or {}
        self.provider = provider or OfflineProvider()
        self.messages = [system_said("You are Barnacle.")]
        self.calls: list[ToolCall] = []

    async def say(self, text: str) -> ChatResponse:
        """One message, one answer of the provider; no tool is run."""
        self.messages.append(user_said(text))
        return await self.answer()

    async def answer(self) -> ChatResponse:
        response = await self.provider.chat(ChatRequest(tuple(self.messages), self.tools))
        self.messages.append(assistant_said(response.text, response.tool_calls))
        return response

    async def ask(self, text: str) -> str:
        """A whole turn: tools are run until there is text."""
        response = await self.say(text)
        while response.tool_calls:
            for call in response.tool_calls:
                self.calls.append(call)
                self.messages.append(tool_said(call, self._result(call)))
            response = await self.answer()
        return response.text

    def _result(self, call: ToolCall) -> str:
        result = self.results.get(call.name, {"done": True})
        if callable(result):
            result = result(json.loads(call.arguments_json))
        return result if isinstance(result, str) else compact(result)


def outcome(response: ChatResponse) -> str:
    """A response in the words of the tables: calls, `ask` or `say`."""
    if response.tool_calls:
        return "; ".join(_call(call) for call in response.tool_calls)
    return "ask" if response.text.rstrip().endswith(("?", "？")) else "say"


def _call(call: ToolCall) -> str:
    arguments = json.loads(call.arguments_json)
    return " ".join([call.name, *(f"{name}={value}" for name, value in arguments.items())])


def agrees(wanted: str, response: ChatResponse) -> bool:
    """The same calls in the same order; arguments that a table does not name are free."""
    got = outcome(response)
    if wanted in {"ask", "say"} or got in {"ask", "say"}:
        return wanted == got
    pairs = list(zip(wanted.split("; "), got.split("; "), strict=False))
    return wanted.count("; ") == got.count("; ") and all(_fits(one, two) for one, two in pairs)


def _fits(wanted: str, got: str) -> bool:
    return got == wanted or (" " not in wanted and got.split(" ", 1)[0] == wanted)
