"""OpenAI chat completions, and every service that speaks them: streaming, native tool calls.

One request, one answer: whoever retries, rotates keys or falls back does it around this class.
Text is handed on as it comes; a tool call only when the service said that its answer has ended.
"""

import dataclasses
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager

from agent.errors import NetworkError, TransientProviderError
from agent.http import HttpClient, HttpRequest
from agent.providers import dialect, failures, wire
from agent.providers.answer import Answer
from agent.providers.base import Capabilities, ChatRequest, ChatResponse, Provider, TextDelta
from agent.providers.credentials import find_key
from agent.providers.dialect import Dialect, Sampling
from agent.providers.reader import AnswerReader, Deadline, Patience
from agent.providers.settings import ProviderSettings, endpoint
from agent.security.redact import Redactor

_log = logging.getLogger(__name__)

# Marketplaces list hundreds of models with long descriptions
MAX_MODEL_LIST_BYTES = 8 * 1024 * 1024
# A name longer than this is no name
MAX_MODEL_CHARS = 200
_BAD_REQUEST = frozenset({400, 422})


class OpenAIProvider(Provider):
    """A way to any service with chat completions.

    Args:
        environ: where a key is looked for that the settings do not give.
        patience: replaces the time limits of the settings.
    """

    name = "openai"

    def __init__(
        self,
        settings: ProviderSettings,
        environ: Mapping[str, str],
        http: HttpClient,
        patience: Patience | None = None,
    ) -> None:
        credential = find_key(settings, environ)
        self._key = None if credential is None else credential.key
        self._http = http
        self._patience = patience or Patience(settings.timeout_s, settings.first_byte_timeout_s)
        self._sampling = Sampling(settings.model, settings.temperature, settings.max_tokens)
        url = endpoint(settings.base_url)
        self._service = failures.Service(
            url,
            url.partition("://")[2].partition("/")[0],
            settings.model,
            "" if credential is None else credential.source,
            Redactor(() if self._key is None else (self._key,)),
        )
        # What each model was found to want; it lasts as long as the process
        self._dialects: dict[str, Dialect] = {}

    async def chat(self, request: ChatRequest) -> ChatResponse:
        # Asked as a stream too: a long answer is alive from its first byte on
        async with aclosing(self.stream(request)) as items:
            async for item in items:
                if isinstance(item, ChatResponse):
                    return item
        raise AssertionError("a stream ends with a response or an error")  # pragma: no cover

    async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        """As the base says; closing the generator early closes the connection at once."""
        sampling = self._sampling.of(request)
        answer = Answer()
        try:
            async with aclosing(self._chunks(request, sampling)) as chunks:
                async for chunk in chunks:
                    if text := answer.add(chunk):
                        yield TextDelta(text)
        except NetworkError as err:
            # After the reason for stopping only the token count can be missing
            if not answer.is_ended:
                raise TransientProviderError(f"{err}{answer.place()}") from err
        yield answer.response(sampling.max_tokens)

    def capabilities(self, model: str | None = None) -> Capabilities:
        return Capabilities(native_tools=True, streaming=True)

    async def list_models(self) -> tuple[str, ...]:
        """The names of the models that the key may use, sorted."""
        try:
            async with self._exchange("GET", "models", Deadline(self._patience.total_s)) as reader:
                if not reader.is_ok:
                    raise failures.explain(self._service, await reader.refusal())
                body = await reader.body(MAX_MODEL_LIST_BYTES)
            models = wire.decode(body.decode(errors="replace"), wire.ModelList).data
        except NetworkError as err:
            raise TransientProviderError(str(err)) from err
        except wire.WireError as err:
            raise TransientProviderError(f"{self._service.host} sent no list of models") from err
        names = {model.id for model in models if model.id.isprintable()}
        return tuple(sorted(name for name in names if 0 < len(name) <= MAX_MODEL_CHARS))

    async def warm_up(self) -> None:
        await self._http.get()

    async def _chunks(
        self, request: ChatRequest, sampling: Sampling
    ) -> AsyncGenerator[wire.Chunk, None]:
        """Ask, in another dialect where the service refuses the first one, and read."""
        deadline = Deadline(self._patience.total_s)
        spoken = self._dialects.get(sampling.model) or Dialect.of_host(self._service.host)
        for attempts_left in reversed(range(dialect.MAX_ADAPTATIONS + 1)):
            body = dialect.encode(request, sampling, spoken)
            async with self._exchange("POST", "chat/completions", deadline, body) as reader:
                if reader.is_ok:
                    self._dialects[sampling.model] = spoken
                    async with aclosing(reader.chunks()) as chunks:
                        async for chunk in chunks:
                            yield chunk
                    return
                refusal = await reader.refusal()
            spoken = self._dialect_after(refusal, sampling.model, spoken, attempts_left)

    def _dialect_after(
        self, refusal: failures.Refusal, model: str, spoken: Dialect, attempts_left: int
    ) -> Dialect:
        """The dialect to try next; the refusal as an error if there is none."""
        if refusal.status in _BAD_REQUEST and attempts_left > 0:
            other = spoken.after_refusal(failures.named_parameter(refusal.body))
            if other is not None:
                _log.info("%s wants to be asked otherwise: %s", model, other)
                return other
        raise failures.explain(dataclasses.replace(self._service, model=model), refusal)

    @asynccontextmanager
    async def _exchange(
        self, method: str, path: str, deadline: Deadline, body: bytes = b""
    ) -> AsyncIterator[AnswerReader]:
        headers = {"content-type": "application/json"} if body else {}
        if self._key is not None:
            headers["authorization"] = f"Bearer {self._key.reveal()}"
        request = HttpRequest(method, f"{self._service.url}/{path}", headers, body)
        first_byte_s = min(self._patience.first_byte_s, deadline.left_s())
        async with self._http.exchange(request, first_byte_s) as answer:
            yield AnswerReader(answer, self._service, self._patience, deadline)
