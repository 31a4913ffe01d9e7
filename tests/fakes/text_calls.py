"""Service that accepts tools, and a model that writes its calls as text all the same."""

from collections.abc import AsyncGenerator

from agent.messages import Effect
from agent.providers.base import Capabilities, ChatRequest, ChatResponse, Provider, TextDelta
from tests.fakes.call_shapes import OBJECT
from tests.fakes.said import spec_of, user_said

_SCHEMA = {"type": "object", "properties": {"pin": {"type": "string"}, "value": {"type": "string"}}}
TOOLS = (spec_of("gpio_write", "Sets a pin.", _SCHEMA, Effect.ACTUATE),)
ASKED = ChatRequest((user_said("led on please"),), TOOLS)
CALL = f"<tool_call>\n{OBJECT}\n</tool_call>"


class TextCallProvider(Provider):
    """Takes tools, and streams what its model writes as text."""

    name = "text"

    def __init__(self, *answers: ChatResponse | str) -> None:
        self._answers = list(answers)
        self.requests: list[ChatRequest] = []

    async def chat(self, request: ChatRequest) -> ChatResponse:
        raise AssertionError("only streams")

    async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        self.requests.append(request)
        answer = self._answers.pop(0)
        response = ChatResponse(answer) if isinstance(answer, str) else answer
        for char in response.text:
            yield TextDelta(char)
        yield response

    def capabilities(self, model: str | None = None) -> Capabilities:
        return Capabilities(native_tools=True, streaming=True)
