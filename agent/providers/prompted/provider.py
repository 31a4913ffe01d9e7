"""Model with tools, even if its service does not take them.

The service's own tool calls are tried first; if it refuses them, the same request goes out in
words, and so does every other one for a while. Either way each answer is read for calls and
thoughts that the model has written as text: many servers accept tools and leave the model's own
template as it is. A call that cannot be read goes back to the model as an error, twice at most; of
an answer with such a call nothing is used.
"""

import enum
import logging
import secrets
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing

from msgspec import Struct, field
from msgspec.structs import replace

from agent.errors import ContextOverflow, ProviderRefused, ToolsUnsupported
from agent.messages import ChatMessage, Role, ToolCall
from agent.providers.answer import FULL_WINDOW
from agent.providers.base import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    Provider,
    StopReason,
    TextDelta,
    Usage,
)
from agent.providers.prompted.constrained import ConstrainedReader
from agent.providers.prompted.forms import ToolForms
from agent.providers.prompted.headless import HeadlessReader, may_begin_in_thought
from agent.providers.prompted.learnt_templates import Writer
from agent.providers.prompted.reader import AnswerReading, PromptedReader
from agent.providers.prompted.writer import (
    CONSTRAINED,
    MARKED,
    WordsForm,
    in_words,
    with_repair,
)
from agent.providers.template_names import HERMES, NATIVE

# A call that is hardly more than a tool's name is everybody's
_LEAST_CHARS = 12


def is_repeated(calls: Iterable[str], messages: Sequence[ChatMessage]) -> bool:
    """Return true if one of the calls stands in a message that the model has not written."""
    wanted = [text for text in map(_squeezed, calls) if len(text) >= _LEAST_CHARS]
    if not wanted:
        return False
    given = [_squeezed(one.text) for one in messages if one.role is not Role.ASSISTANT]
    return any(call in text for call in wanted for text in given)


def _squeezed(text: str) -> str:
    return "".join(text.split())


_log = logging.getLogger(__name__)

_DOUBTFUL = (
    "it is not whole, or it stands in the middle of a line as an example would: write a call on "
    "lines of its own at the end, and an example in a block of code"
)
_STRAY = "it is not in the form that your calls have"
_HELP = (
    "ask again, choose another model, or start its server with the reader of its calls "
    "(vLLM: --enable-auto-tool-choice --tool-call-parser NAME, llama.cpp: --jinja)"
)
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
    # In words, and the server samples nothing but an answer or valid calls
    GRAMMAR = "grammar"


class _Talk(Struct):
    """Request until its answer can be used, with the repairs that it takes.

    Args:
        request: as it came, with its tools.
        refused: answers whose calls could not be read, each with the reason.
    """

    request: ChatRequest
    usage: Usage = Usage()
    shown: list[str] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    has_begun: bool = False
    has_continued: bool = False
    # Of what is shown, so much is of answers before this one
    asked_before: int = 0

    @property
    def repairs(self) -> int:
        return len(self.refused)

    def show(self, text: str, *, takes_back: bool = False) -> str:
        """Return text for people, continuing what they saw of earlier answers.

        Args:
            takes_back: what was shown of this answer was none of it.
        """
        if takes_back:
            del self.shown[self.asked_before :]
            self.has_continued = False
        if text and self.repairs > 0 and self.shown and not self.has_continued:
            text = f"\n{text}"
        if text:
            self.has_continued = True
            self.shown.append(text)
        return text

    def refuse(self, said: str, problem: str) -> None:
        self.refused.append((said, problem))
        self.has_continued = False
        self.asked_before = len(self.shown)

    def judged(self, reading: AnswerReading, response: ChatResponse) -> AnswerReading:
        """Return what counts of a reading, beside the service's own calls and what was told."""
        if response.tool_calls or response.stop is StopReason.REFUSED:
            # The service has found them, and what the model wrote beside them is the same again;
            # of an answer that was withheld nothing is done
            return AnswerReading(reading.text)
        if reading.is_doubtful and not self.refused and response.stop is not StopReason.LENGTH:
            return AnswerReading("", problems=(_DOUBTFUL,))
        if reading.wanted and is_repeated(reading.calls_as_written, self.request.messages):
            # It shows what it was given; a call is the model's own
            return AnswerReading(reading.as_text)
        return reading


class PromptedProvider(Provider):
    """Provider of one model.

    Args:
        model: asked where a request names none.
        forms: what was found of models; shared by the ways to them.
        has_grammar: the server can hold an answer to a schema; a call that could not be read is
            asked for again in this way.
        template: the one in which the model writes its calls; empty: what is learnt of it.
    """

    def __init__(
        self,
        inner: Provider,
        model: str,
        forms: ToolForms,
        form: ToolForm = ToolForm.AUTO,
        *,
        has_grammar: bool = False,
        template: str = "",
    ) -> None:
        self.name = inner.name
        self._inner = inner
        self._model = model
        self._forms = forms
        self._form = form
        self._has_grammar = has_grammar
        self._template = template

    async def chat(self, request: ChatRequest) -> ChatResponse:
        async with aclosing(self.stream(request)) as items:
            async for item in items:
                if isinstance(item, ChatResponse):
                    return item
        raise AssertionError("a stream ends with a response or an error")  # pragma: no cover

    async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        talk = _Talk(request)
        if not self._uses_words(request.model):
            try:
                async with aclosing(self._stream_natively(talk)) as items:
                    async for item in items:
                        yield item
                        if isinstance(item, ChatResponse):
                            return
            except ToolsUnsupported as err:
                if talk.has_begun or self._form is ToolForm.NATIVE:
                    raise
                self._remember(request.model or self._model, err)
        async with aclosing(self._stream_in_words(talk)) as items:
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
            return self._form in {ToolForm.WORDS, ToolForm.GRAMMAR}
        if not self._inner.capabilities(model).native_tools:
            return True
        return self._forms.takes_words(self.name, model or self._model)

    def _remember(self, model: str, err: ToolsUnsupported) -> None:
        _log.warning("provider: tools described in words (model=%s, reason=%s)", model, err)
        if err.is_lasting:
            self._forms.refused(self.name, model)

    async def _stream_natively(self, talk: _Talk) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        """Yield one answer by the service's own way; end with a response only if it is usable."""
        if self._form is ToolForm.NATIVE:
            async with aclosing(self._inner.stream(talk.request)) as items:
                async for item in items:
                    yield item
            return
        async with aclosing(self._ask(talk, talk.request)) as answer:
            async for item in answer:
                yield item

    async def _stream_in_words(self, talk: _Talk) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        while True:
            form = self._words_form(talk)
            told = in_words(talk.request, form)
            for said, problem in talk.refused:
                told = with_repair(told, said, problem, form)
            async with aclosing(self._ask(talk, told)) as items:
                async for item in items:
                    yield item
                    if isinstance(item, ChatResponse):
                        return
            if talk.repairs > MAX_REPAIRS:
                raise ProviderRefused(
                    f"the model wrote an unreadable tool call {talk.repairs} times: {_HELP}"
                )

    def _words_form(self, talk: _Talk) -> WordsForm:
        if self._form is ToolForm.GRAMMAR:
            return CONSTRAINED
        # The model does not write it right by itself
        may_hold = self._form is ToolForm.AUTO and self._has_grammar and talk.request.tools
        return CONSTRAINED if may_hold and talk.refused else MARKED

    async def _ask(
        self, talk: _Talk, told: ChatRequest
    ) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        """Yield one answer; end with a response only if it is usable."""
        is_held = told.answer_schema is not None
        known = self._known(told)
        reader = self._reader(talk, told, known)
        said: list[str] = []
        async with aclosing(self._inner.stream(told)) as items:
            async for item in items:
                talk.has_begun = True
                if isinstance(item, TextDelta):
                    said.append(item.text)
                    text = reader.feed(item.text)
                    if text := talk.show(text, takes_back=reader.takes_back):
                        yield TextDelta(text)
                    continue
                reading = talk.judged(self._closed(talk, told, reader, item), item)
                if known is not None and not is_held:
                    reading = self._unless_stray(talk, told, "".join(said), item, reading)
                _refuse_cut(item, reading)
                if text := talk.show(reading.text):
                    yield TextDelta(text)
                talk.usage = _sum(talk.usage, item.usage)
                if not reading.problems:
                    self._learn(talk, told, item, reading)
                    thoughts = f"{item.thoughts}{reader.thoughts}".strip()
                    yield replace(_answered(item, reading, talk), thoughts=thoughts)
                    return
                _log.info("provider: unreadable tool call (problem=%s)", reading.problems[0])
                talk.refuse("".join(said), reading.problems[0])

    def _reader(
        self, talk: _Talk, told: ChatRequest, known: frozenset[str] | None
    ) -> HeadlessReader:
        offered = {spec.name: spec for spec in talk.request.tools}
        if told.answer_schema is not None:
            return HeadlessReader(ConstrainedReader(offered), begins=False)
        begins = self._begins_in_thought(told)
        return HeadlessReader(PromptedReader(offered, known), begins=begins)

    def _closed(
        self, talk: _Talk, told: ChatRequest, reader: HeadlessReader, response: ChatResponse
    ) -> AnswerReading:
        """Return the reading of a whole answer; note how it began."""
        reading = reader.close(is_cut=response.stop is StopReason.LENGTH)
        talk.show("", takes_back=reader.takes_back)
        begins = reader.begins_in_thought
        if begins or (begins is False and self._begins_in_thought(told) is not False):
            self._forms.told(self.name, told.model or self._model, begins_in_thought=begins)
        return reading

    def _begins_in_thought(self, told: ChatRequest) -> bool | None:
        """Return if an answer begins in a thought; None where that is likely."""
        model = told.model or self._model
        known = self._forms.begins_in_thought(self.name, model)
        return known if known is not None or may_begin_in_thought(model) else False

    def _writer(self, told: ChatRequest) -> Writer:
        form = ToolForm.NATIVE if told.tools else ToolForm.WORDS
        return (self.name, told.model or self._model, form.value)

    def _known(self, told: ChatRequest) -> frozenset[str] | None:
        """Return the templates in which a call is one; None where nothing is known of the model."""
        said = frozenset({self._template} - {""})
        known = said or self._forms.templates.of(self._writer(told))
        # A model that is told its tools in words is told this one
        return known | {HERMES} if known and not told.tools else known or None

    def _learn(
        self, talk: _Talk, told: ChatRequest, response: ChatResponse, reading: AnswerReading
    ) -> None:
        if response.tool_calls:
            self._forms.templates.wrote(self._writer(told), frozenset({NATIVE}))
        elif reading.templates and not talk.refused:
            self._forms.templates.wrote(self._writer(told), reading.templates)

    def _unless_stray(
        self,
        talk: _Talk,
        told: ChatRequest,
        said: str,
        response: ChatResponse,
        reading: AnswerReading,
    ) -> AnswerReading:
        """Return the reading, or a refusal where the model wrote a call in another template.

        What was learnt of it does not fit any more; it is asked once more.
        """
        if reading.wanted or reading.problems or response.tool_calls or talk.refused:
            return reading
        reader = PromptedReader({spec.name: spec for spec in talk.request.tools})
        reader.feed(said)
        other = talk.judged(reader.close(), response)
        if not (other.wanted or other.problems):
            return reading
        self._forms.templates.forget(self._writer(told))
        templates = ",".join(sorted(other.templates))
        _log.info("provider: call in another template (model=%s, is=%s)", self._model, templates)
        return AnswerReading("", problems=(_STRAY,))


def _refuse_cut(response: ChatResponse, reading: AnswerReading) -> None:
    """Refuse a call that the service cut, even if it looks whole."""
    if response.stop is StopReason.LENGTH and reading.is_cut:
        _refuse_full(response)
        raise ProviderRefused(
            "the answer was cut in the middle of a tool call: set provider.max_tokens higher"
        )


def _refuse_full(response: ChatResponse) -> None:
    if response.was_shortened:
        raise ContextOverflow(FULL_WINDOW)


def _answered(response: ChatResponse, reading: AnswerReading, talk: _Talk) -> ChatResponse:
    read = (
        ToolCall(f"call_{secrets.token_hex(8)}", wanted.name, wanted.arguments_json)
        for wanted in reading.wanted
    )
    # Some servers look for calls in an answer though they were told of no tools
    calls = (*response.tool_calls, *read)
    text = "".join(talk.shown)
    if response.stop is StopReason.LENGTH and not text and not calls:
        _refuse_full(response)
        raise ProviderRefused(
            "the model used all its tokens before it answered: set provider.max_tokens higher"
        )
    stop = StopReason.TOOLS if calls else response.stop
    # The service's own words belong to its own calls: it wants them back, signatures and all
    echo = response.echo if response.tool_calls and not reading.wanted else None
    return replace(response, text=text, tool_calls=calls, stop=stop, usage=talk.usage, echo=echo)


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        one.cached_tokens + other.cached_tokens,
        one.cache_write_tokens + other.cache_write_tokens,
    )
