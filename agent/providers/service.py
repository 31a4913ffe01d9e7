"""Model service over HTTP, whatever wire format it speaks.

One request, one answer: whoever retries, rotates keys or falls back does it around this class.
Text is handed on as it comes; a tool call only when the service said that its answer has ended.
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Generic, TypeVar

from msgspec.structs import replace

from agent.errors import ContextOverflow, NetworkError, TransientProviderError
from agent.net.http import HttpClient
from agent.providers import complaints, failures, service_json
from agent.providers.answer import AnswerBuilder
from agent.providers.base import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    DirectProvider,
    TextDelta,
)
from agent.providers.endpoint import Endpoint
from agent.providers.message_order import well_formed
from agent.providers.reader import AnswerReader, Deadline, RequestTimeouts
from agent.providers.wire import Sampling, ToldError, WireFormat, WireRequest

_log = logging.getLogger(__name__)

# Marketplaces list hundreds of models with long descriptions
MAX_MODEL_LIST_BYTES = 8 * 1024 * 1024
# A name longer than this is no name
MAX_MODEL_CHARS = 200
# One for each parameter that models are known to differ in, and none twice
MAX_ADAPTATIONS = 4
# Part of a learnt window that an answer may take, as a turn divides it: a quarter
_ANSWER_SHARE = 4
_BAD_REQUEST = frozenset({400, 422})

M = TypeVar("M")


class ServiceProvider(DirectProvider, Generic[M]):
    """Provider of one service with one key.

    Args:
        name: what the service is called in the configuration and in the log.
        sampling: what a request is asked with when it does not say otherwise.
    """

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        wire: WireFormat[M],
        sampling: Sampling,
        http: HttpClient,
        patience: RequestTimeouts,
    ) -> None:
        self.name = name
        self._endpoint = endpoint
        self._wire = wire
        self._sampling = sampling
        self._http = http
        self._patience = patience
        # What each model was found to want; it lasts as long as the process
        self._dialects: dict[str, M] = {}
        # The windows that services have told of by refusing what was too long
        self._windows: dict[str, int] = {}

    @property
    def model(self) -> str:
        return self._sampling.model

    @property
    def max_tokens(self) -> int:
        return self._sampling.max_tokens

    @property
    def has_key(self) -> bool:
        """Return true if the service has a key that somebody pays for."""
        return self._endpoint.key is not None

    async def chat(self, request: ChatRequest) -> ChatResponse:
        # Asked as a stream too: a long answer is alive from its first byte on
        async with aclosing(self.stream(request)) as items:
            async for item in items:
                if isinstance(item, ChatResponse):
                    return item
        raise AssertionError("a stream ends with a response or an error")  # pragma: no cover

    async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        """Yield as the base does; closing the generator early closes the connection at once."""
        request = replace(request, messages=well_formed(request.messages))
        sampling = self._sampling.of(request)
        answer = AnswerBuilder(self._wire.name, sampling.model)
        has_pictures = any(message.images for message in request.messages)
        service = replace(self._endpoint.service(sampling.model), has_pictures=has_pictures)
        instead: object = None
        try:
            async with aclosing(self._events(request, sampling, answer, service)) as events:
                async for event in events:
                    try:
                        text = self._read(event, answer, service)
                    finally:
                        # Of an answer that ends in an error, too
                        if request.counted is not None:
                            request.counted(answer.cost())
                    if answer.is_silent and instead is None:
                        instead = complaints.told_instead(event)
                    if text:
                        yield TextDelta(text)
        except ContextOverflow as err:
            if err.window_tokens is not None:
                self._windows[sampling.model] = err.window_tokens
            raise
        except NetworkError as err:
            # After the reason for stopping only the token count can be missing
            if not answer.is_ended and not (answer.is_silent and instead):
                raise TransientProviderError(f"{err}{answer.place()}") from err
        if answer.is_silent and instead:
            raise failures.explain_event(service, instead)
        yield answer.response(self._in_window(sampling).max_tokens)

    def capabilities(self, model: str | None = None) -> Capabilities:
        asked = model or self._sampling.model
        able = self._wire.capabilities(asked)
        known = self._sampling.context_tokens or able.context_tokens
        return replace(able, context_tokens=self._windows.get(asked, known))

    async def list_models(self) -> tuple[str, ...]:
        """Return the names of the models that the key may use, sorted."""
        host = self._endpoint.host
        asked = WireRequest(self._wire.models_path, b"")
        deadline = Deadline(self._patience.total_s)
        try:
            async with self._exchange("GET", asked, self._sampling.model, deadline) as reader:
                if not reader.is_ok:
                    service = self._endpoint.service(self._sampling.model)
                    raise failures.explain(service, await reader.refusal())
                body = await reader.body(MAX_MODEL_LIST_BYTES)
            names = set(self._wire.read_models(body.decode(errors="replace")))
        except NetworkError as err:
            raise TransientProviderError(str(err)) from err
        except service_json.WireError as err:
            raise TransientProviderError(f"{host} sent no list of models") from err
        usable = (name for name in names if name.isprintable())
        return tuple(sorted(name for name in usable if 0 < len(name) <= MAX_MODEL_CHARS))

    async def warm_up(self) -> None:
        await self._http.open()

    async def _events(
        self,
        request: ChatRequest,
        sampling: Sampling,
        answer: AnswerBuilder,
        service: failures.ServiceTarget,
    ) -> AsyncGenerator[str, None]:
        """Yield events; ask in another dialect if the service refuses the first one."""
        model = sampling.model
        deadline = Deadline(self._patience.total_s)
        dialect = self._dialects.get(model) or self._wire.first_dialect(self._endpoint.host, model)
        for attempts_left in reversed(range(MAX_ADAPTATIONS + 1)):
            post = self._wire.write(request, self._in_window(sampling), dialect)
            async with self._exchange("POST", post, model, deadline) as reader:
                if reader.is_ok:
                    self._dialects[model] = dialect
                    async with aclosing(reader.events(self._wire.splitter())) as events:
                        async for event in events:
                            if request.heard is not None:
                                request.heard()
                            yield event
                            if answer.is_closed:
                                await reader.drain()
                                return
                    return
                refusal = await reader.refusal()
            if attempts_left and self._learns_window(refusal, sampling):
                continue
            dialect = self._dialect_after(refusal, service, dialect, attempts_left)

    def _learns_window(self, refusal: failures.ServiceRefusal, sampling: Sampling) -> bool:
        """Learn the window from a refusal of the answer's limit; return true to ask again."""
        window = complaints.answer_window(refusal.body)
        if window is None or window > self._in_window(sampling).max_tokens:
            return False
        self._windows[sampling.model] = window
        _log.info("provider: window learnt (model=%s, tokens=%d)", sampling.model, window)
        return True

    def _in_window(self, sampling: Sampling) -> Sampling:
        """Return the sampling with a limit that leaves room for a prompt in a learnt window."""
        window = self._windows.get(sampling.model)
        if window is None or sampling.max_tokens < window:
            return sampling
        return replace(sampling, max_tokens=window // _ANSWER_SHARE)

    def _dialect_after(
        self,
        refusal: failures.ServiceRefusal,
        service: failures.ServiceTarget,
        dialect: M,
        attempts_left: int,
    ) -> M:
        """Return the dialect to try next; raise the refusal if there is none."""
        if refusal.status in _BAD_REQUEST and attempts_left > 0:
            other = self._wire.other_dialect(dialect, refusal)
            if other is not None:
                _log.info("provider: request changed (model=%s, request=%s)", service.model, other)
                return other
        raise failures.explain(service, refusal)

    def _read(self, event: str, answer: AnswerBuilder, service: failures.ServiceTarget) -> str:
        try:
            return self._wire.read(event, answer)
        except ToldError as err:
            raise failures.explain_event(service, err.body) from err
        except service_json.WireError as err:
            raise TransientProviderError(
                f"{service.host} sent an invalid completion: {service.shown(str(err))}"
            ) from err

    @asynccontextmanager
    async def _exchange(
        self, method: str, post: WireRequest, model: str, deadline: Deadline
    ) -> AsyncIterator[AnswerReader]:
        request = self._endpoint.request(method, post.path, post.headers, post.body)
        first_byte_s = min(self._patience.first_byte_s, deadline.left_s())
        async with self._http.exchange(request, first_byte_s) as answer:
            service = self._endpoint.service(model)
            yield AnswerReader(answer, service, self._patience, deadline)
