"""A model with tools, whether it takes them or not.

Asked with its service's own tool calls first; where those are refused, with the same request in
words, and from then on so for a while. A call that cannot be read goes back to the model as an
error, twice at most; of an answer with such a call nothing is used.
"""

import enum
import logging
import secrets
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from agent.errors import ProviderRefused, ToolsUnsupported
from agent.messages import ToolCall
from agent.providers.base import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    Provider,
    Stop,
    TextDelta,
    Usage,
)
from agent.providers.prompted.forms import ToolForms
from agent.providers.prompted.reader import PromptedReader, Reading
from agent.providers.prompted.writer import in_words, with_repair

_log = logging.getLogger(__name__)

# A model that cannot write it right three times over will not do it the fourth time
MAX_REPAIRS = 2


class ToolForm(enum.Enum):
    """Form in which a model gets its tools and writes its calls."""

    # The service's own way; in words where it refuses that
    AUTO = "auto"
    # The service's own way alone
    NATIVE = "native"
    # In words alone
    WORDS = "words"


@dataclass(slots=True)
class _Talk:
    """One answer in words, with the repairs that it takes."""

    request: ChatRequest
    usage: Usage = field(default=Usage())
    shown: list[str] = field(default_factory=list)
    repairs: int = 0
    has_continued: bool = False

    def show(self, text: str) -> str:
        """Text for people, as it continues what they were shown of earlier answers."""
        if text and self.repairs > 0 and self.shown and not self.has_continued:
            text = f"\n{text}"
        if text:
            self.has_continued = True
            self.shown.append(text)
        return text


class PromptedProvider(Provider):
    """A way to one model.

    Args:
        model: asked where a request names none.
        forms: what was found of models; shared by the ways to them.
    """

    def __init__(
        self, inner: Provider, model: str, forms: ToolForms, form: ToolForm = ToolForm.AUTO
    ) -> None:
        self.name = inner.name
        self._inner = inner
        self._model = model
        self._forms = forms
        self._form = form

    async def chat(self, request: ChatRequest) -> ChatResponse:
        async with aclosing(self.stream(request)) as items:
            async for item in items:
                if isinstance(item, ChatResponse):
                    return item
        raise AssertionError("a stream ends with a response or an error")  # pragma: no cover

    async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        if not self._uses_words(request.model):
            has_begun = False
            try:
                async with aclosing(self._inner.stream(request)) as items:
                    async for item in items:
                        has_begun = True
                        yield item
            except ToolsUnsupported as err:
                if has_begun or self._form is ToolForm.NATIVE:
                    raise
                self._remember(request.model or self._model, err)
            else:
                return
        async with aclosing(self._stream_in_words(request)) as items:
            async for item in items:
                yield item

    def capabilities(self, model: str | None = None) -> Capabilities:
        able = self._inner.capabilities(model)
        return replace(able, native_tools=able.native_tools and not self._uses_words(model))

    async def list_models(self) -> tuple[str, ...]:
        return await self._inner.list_models()

    async def warm_up(self) -> None:
        await self._inner.warm_up()

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _uses_words(self, model: str | None) -> bool:
        if self._form is not ToolForm.AUTO:
            return self._form is ToolForm.WORDS
        if not self._inner.capabilities(model).native_tools:
            return True
        return self._forms.takes_words(self.name, model or self._model)

    def _remember(self, model: str, err: ToolsUnsupported) -> None:
        _log.warning("%s is told of tools in words: %s", model, err)
        if err.is_lasting:
            self._forms.refused(self.name, model)

    async def _stream_in_words(
        self, request: ChatRequest
    ) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        if not request.tools:
            # Nothing to call: what looks like a call is text
            async with aclosing(self._inner.stream(in_words(request))) as items:
                async for item in items:
                    yield item
            return
        talk = _Talk(in_words(request))
        while True:
            reader = PromptedReader({spec.name: spec for spec in request.tools})
            async with aclosing(self._ask(talk, reader)) as items:
                async for item in items:
                    yield item
                    if isinstance(item, ChatResponse):
                        return
            if talk.repairs > MAX_REPAIRS:
                raise ProviderRefused(
                    f"the model wrote a tool call that cannot be read, {talk.repairs} times over: "
                    "ask again, or choose another model"
                )

    async def _ask(
        self, talk: _Talk, reader: PromptedReader
    ) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        """One answer; a response at its end only if it can be used."""
        said: list[str] = []
        async with aclosing(self._inner.stream(talk.request)) as items:
            async for item in items:
                if isinstance(item, TextDelta):
                    said.append(item.text)
                    if text := talk.show(reader.feed(item.text)):
                        yield TextDelta(text)
                    continue
                reading = reader.close()
                _refuse_cut(item, reading)
                if text := talk.show(reading.text):
                    yield TextDelta(text)
                talk.usage = _sum(talk.usage, item.usage)
                if not reading.problems:
                    yield _answered(item, reading, talk)
                    return
                _log.info("a tool call could not be read: %s", reading.problems[0])
                talk.repairs += 1
                talk.has_continued = False
                talk.request = with_repair(talk.request, "".join(said), reading.problems[0])


def _refuse_cut(response: ChatResponse, reading: Reading) -> None:
    """A call that the service cut never runs, even where it looks whole."""
    if response.stop is Stop.LENGTH and reading.is_cut:
        raise ProviderRefused(
            "the answer was cut in the middle of a tool call: set provider.max_tokens higher"
        )


def _answered(response: ChatResponse, reading: Reading, talk: _Talk) -> ChatResponse:
    read = (
        ToolCall(f"call_{secrets.token_hex(8)}", wanted.name, wanted.arguments_json)
        for wanted in reading.wanted
    )
    # Some servers look for calls in an answer though they were told of no tools
    calls = (*response.tool_calls, *read)
    text = "".join(talk.shown)
    if response.stop is Stop.LENGTH and not text and not calls:
        raise ProviderRefused(
            "the model used up all its tokens before it said anything: "
            "set provider.max_tokens higher"
        )
    stop = Stop.TOOLS if calls else response.stop
    return replace(response, text=text, tool_calls=calls, stop=stop, usage=talk.usage, echo=None)


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        one.cached_tokens + other.cached_tokens,
        one.cache_write_tokens + other.cache_write_tokens,
    )
