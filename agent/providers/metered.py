"""Provider whose every request is counted, retries and fallbacks too.

What was cut off in the middle has been paid for: it is estimated and counted.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from msgspec import Struct
from msgspec.structs import replace

from agent.providers.answer import BYTES_PER_TOKEN
from agent.providers.base import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    DirectProvider,
    Provider,
    TextDelta,
    Usage,
)
from agent.providers.once import Once
from agent.providers.spending_limits import Budget

# What services count for a picture of usual size
IMAGE_TOKENS = 1500
# Many times the tools of a device with several boards
MAX_COUNTED_TOOLS = 512


class _CutAnswer(Struct):
    """Cost of an answer that never became whole, such as one that was all thoughts."""

    _counted: Usage = Usage()

    def count(self, usage: Usage) -> None:
        self._counted = usage

    def usage(self, sent_tokens: int, shown_tokens: int) -> Usage | None:
        """Return the cost, estimated where the service has not counted; None for no answer."""
        counted = self._counted
        if not shown_tokens and counted == Usage():
            return None
        return replace(
            counted,
            input_tokens=counted.input_tokens or sent_tokens,
            output_tokens=max(counted.output_tokens, shown_tokens),
        )


class MeteredProvider(Provider):
    """Asks `inner` while the budget allows it."""

    def __init__(self, inner: DirectProvider, budget: Budget) -> None:
        self.name = inner.name
        self._inner = inner
        self._budget = budget

    async def chat(self, request: ChatRequest) -> ChatResponse:
        async with aclosing(self.stream(request)) as items:
            async for item in items:
                if isinstance(item, ChatResponse):
                    return item
        raise AssertionError("a stream ends with a response or an error")  # pragma: no cover

    async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        model = request.model or self._inner.model
        most = Usage(_sent_tokens(request), request.max_tokens or self._inner.max_tokens)
        budget, has_key = self._budget, self._inner.has_key
        asked = await budget.admit(request.conversation, model, most, has_key=has_key)
        is_settled, shown, cut = False, 0, _CutAnswer()
        try:
            told = replace(request, counted=cut.count)
            async with aclosing(self._inner.stream(told)) as items:
                async for item in items:
                    if isinstance(item, ChatResponse):
                        is_settled = True
                        usage = _counted(item, most.input_tokens)
                        await budget.settle(asked, usage, item.model)
                    else:
                        shown += _tokens(item.text)
                    yield item
        finally:
            if not is_settled:
                await budget.settle(asked, cut.usage(most.input_tokens, shown))

    def capabilities(self, model: str | None = None) -> Capabilities:
        return self._inner.capabilities(model)

    async def list_models(self) -> tuple[str, ...]:
        return await self._inner.list_models()

    async def warm_up(self) -> None:
        await self._inner.warm_up()

    async def aclose(self) -> None:
        await self._inner.aclose()


def _counted(response: ChatResponse, sent_tokens: int) -> Usage:
    """Return the service's count; missing numbers are estimated."""
    if response.usage.input_tokens or response.usage.output_tokens:
        return response.usage
    written = (response.text, response.thoughts, *(c.arguments_json for c in response.tool_calls))
    return Usage(sent_tokens, sum(map(_tokens, written)))


def _sent_tokens(request: ChatRequest) -> int:
    # All at once: this is done for hundreds of short messages in every request
    said = _tokens("".join([message.text for message in request.messages]))
    told = sum(
        _tokens(spec.description) + _schema_tokens(spec.parameters) for spec in request.tools
    )
    images = sum([len(message.images) for message in request.messages])
    return said + told + images * IMAGE_TOKENS


def _tokens(text: str) -> int:
    return -(-len(text.encode(errors="replace")) // BYTES_PER_TOKEN)


def _tokens_of_schema(parameters: Mapping[str, object]) -> int:
    return _tokens(str(parameters))


_schema_tokens = Once(_tokens_of_schema, MAX_COUNTED_TOOLS)
