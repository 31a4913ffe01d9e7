"""Embeddings from a service with OpenAI's `/embeddings`: batches, retries, pauses.

A service that fails is left alone for a while, so that no turn waits for it again and again;
words carry the recall meanwhile. What comes back is checked before anybody compares it.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from agent.embeddings import vectors
from agent.embeddings.keys import Key
from agent.embeddings.settings import EmbeddingsSettings, service_url
from agent.errors import ConfigRefused, EmbedderUnavailable, NetworkError
from agent.net.http import HttpAnswer, HttpClient, HttpRequest
from agent.security.redact import Redactor
from agent.system.clock import Clock
from agent.text.printable import printable_line

if TYPE_CHECKING:
    from agent.embeddings.vectors import Vectors

# Few enough that one lost request loses little, and far below every service's limit
MAX_TEXTS = 64
# Of one text: services take 8191 tokens, and in some scripts a character is one
MAX_CHARS = 8000
# Where a service refuses that: a character is four tokens at most, and small models take 512
SHORTER_CHARS = (2000, 400)
# Of one request: a quarter of a megabyte goes out even over a slow uplink
MAX_REQUEST_CHARS = 64_000
# The longest vectors there are, 64 of them, in decimal digits
MAX_ANSWER_BYTES = 16 * 1024 * 1024
# A service embeds a batch in well under a second; a local one may have to load its model
REQUEST_TIMEOUT_S = 30.0
# A service that is told apart from a dead one by the third try
MAX_ATTEMPTS = 3
# Between two tries, doubled each time
FIRST_PAUSE_S = 0.5
# Longer waits than this are a rest: somebody is waiting for an answer
MAX_PAUSE_S = 10.0
# After a failure that may pass: no turn pays for it twice in this time
REST_S = 30.0
# After a refusal, which only a person can end
REFUSED_REST_S = 300.0
# Of a service's own words: enough to act on
_MAX_DETAIL_CHARS = 300
_MAX_ERROR_BYTES = 16 * 1024
_OK = 200
_BAD_KEY = frozenset({401, 403})
_TRY_AGAIN = frozenset({408, 409, 425, 429})
_OWN_FAULT = 500
_NOT_FOUND = 404
# What a service answers to a text that is too long for its model
_TOO_LONG = frozenset({400, 413, 422})
# llama.cpp says it with 500, by its usual setting of any text beyond 512 tokens; Ollama did too
_TOO_LONG_WORDS = re.compile(
    r"\b(?:input|prompt|text)\b.{0,60}\b(?:too (?:large|long)|(?:larger|longer) than|exceeds?)\b",
    re.IGNORECASE,
)
# What a service is sent for a text without a word, which most refuse
_NOTHING = " "
_LENGTHS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}


class _Item(msgspec.Struct, frozen=True):
    embedding: list[float]
    index: int | None = None


class _Answer(msgspec.Struct, frozen=True):
    data: list[_Item]


class _TooLong(EmbedderUnavailable):
    """A refusal that may be of a text's length."""


class _Passing(Exception):
    """A failure that may pass; `wait_s` is the wait that the service asks for."""

    def __init__(self, text: str, wait_s: float | None = None) -> None:
        super().__init__(text)
        self.wait_s = wait_s


class OpenAIEmbedder:
    """Asks a service for vectors.

    Args:
        http: the shared client; None makes one that is closed with this embedder.
    """

    def __init__(
        self, settings: EmbeddingsSettings, key: Key | None, http: HttpClient | None, clock: Clock
    ) -> None:
        self._url = service_url(settings.provider)
        self._host = self._url.partition("://")[2].partition("/")[0]
        self._model = settings.model
        self._wanted = settings.dimensions
        self._key = key
        self._redactor = Redactor(() if key is None else (key.secret,))
        self._http = http or HttpClient()
        self._owns_http = http is None
        self._clock = clock
        self._length = self._wanted or _LENGTHS.get(self._model, 0)
        self._resting_until_s = 0.0
        self._why = ""

    @property
    def model_id(self) -> str:
        cut = f"@{self._wanted}" if self._wanted else ""
        return f"{self._host}/{self._model}{cut}"

    @property
    def dimensions(self) -> int:
        """Return the dimensions; 0 before the first answer of an unknown model."""
        return self._length

    async def embed(self, texts: Sequence[str], *, asked: bool = False) -> "Vectors":
        self._refuse_while_resting()
        parts = []
        for batch in _batches([_clean(text) for text in texts]):
            try:
                parts.append(await self._embed_shorter(batch))
            except asyncio.CancelledError:
                # Nobody waits that long twice
                self._rest(REST_S, f"{self._host} took too long")
                raise
        return vectors.joined(parts, self._length)

    async def aclose(self) -> None:
        if self._owns_http:
            await self._http.aclose()

    async def _embed_shorter(self, texts: Sequence[str]) -> "Vectors":
        """Embed texts, or their beginnings: one that is too long keeps all others from theirs."""
        for chars in SHORTER_CHARS:
            try:
                return await self._embed(texts)
            except _TooLong:
                shorter = [text[:chars] for text in texts]
                if shorter == texts:
                    raise
                texts = shorter
        return await self._embed(texts)

    async def _embed(self, texts: Sequence[str]) -> "Vectors":
        pause_s = FIRST_PAUSE_S
        for attempts_left in reversed(range(MAX_ATTEMPTS)):
            try:
                async with asyncio.timeout(REQUEST_TIMEOUT_S):
                    return self._checked(await self._ask(texts), len(texts))
            except (NetworkError, TimeoutError) as err:
                raise self._rest(REST_S, str(err) or f"{self._host} took too long") from err
            except ConfigRefused as err:
                raise self._rest(REFUSED_REST_S, str(err)) from err
            except _Passing as err:
                wait_s = pause_s if err.wait_s is None else err.wait_s
                if not attempts_left or wait_s > MAX_PAUSE_S:
                    raise self._rest(max(REST_S, wait_s), str(err)) from err
            await self._clock.sleep(wait_s)
            pause_s *= 2
        raise AssertionError("the last attempt returns or raises")  # pragma: no cover

    async def _ask(self, texts: Sequence[str]) -> bytes:
        body: dict[str, object] = {
            "model": self._model,
            "input": list(texts),
            "encoding_format": "float",
        }
        if self._wanted:
            body["dimensions"] = self._wanted
        headers = {"content-type": "application/json"}
        if self._key is not None:
            headers["authorization"] = f"Bearer {self._key.secret.reveal()}"
        content = msgspec.json.encode(body)
        request = HttpRequest("POST", f"{self._url}/embeddings", headers, content)
        async with self._http.exchange(request) as answer:
            if answer.status != _OK:
                raise self._refusal(answer, await _body(answer, _MAX_ERROR_BYTES))
            whole = await _body(answer, MAX_ANSWER_BYTES)
        if len(whole) > MAX_ANSWER_BYTES:
            raise self._senseless(f"more than {MAX_ANSWER_BYTES} bytes")
        return whole

    def _checked(self, body: bytes, count: int) -> "Vectors":
        try:
            items = msgspec.json.decode(body, type=_Answer).data
        except (msgspec.DecodeError, UnicodeError, RecursionError) as err:
            raise self._senseless(str(err)) from err
        if all(item.index is not None for item in items):
            items = sorted(items, key=lambda item: item.index or 0)
            if [item.index for item in items] != list(range(count)):
                raise self._senseless("wrong indexes")
        if len(items) != count:
            raise self._senseless(f"{len(items)} vectors for {count} texts")
        try:
            unit = vectors.unit([item.embedding for item in items], self._length)
        except ValueError as err:
            raise self._senseless(str(err)) from err
        self._length = unit.shape[1]
        return unit

    def _refusal(self, answer: HttpAnswer, body: bytes) -> Exception:
        said = printable_line(self._redactor.redact(body.decode(errors="replace")), 4096)
        detail = f" ({answer.status}: {said[:_MAX_DETAIL_CHARS].strip()})"
        if answer.status == _OWN_FAULT and _TOO_LONG_WORDS.search(said):
            return _TooLong(f"{self._host} refused to embed{detail}")
        if answer.status in _TRY_AGAIN or answer.status >= _OWN_FAULT:
            wait_s = _seconds(answer.header("retry-after"))
            return _Passing(f"{self._host} cannot embed now{detail}", wait_s)
        if answer.status in _BAD_KEY:
            source = self._key.source if self._key else "embeddings.api_key, which is empty"
            return self._rest(REFUSED_REST_S, f"{self._host} refused the key from {source}{detail}")
        if answer.status == _NOT_FOUND:
            return self._rest(
                REFUSED_REST_S,
                f"{self._host} has no model {self._model} at {self._url}{detail}: "
                "change embeddings.model or embeddings.provider",
            )
        kind = _TooLong if answer.status in _TOO_LONG else EmbedderUnavailable
        return kind(f"{self._host} refused to embed{detail}")

    def _senseless(self, what: str) -> EmbedderUnavailable:
        shown = printable_line(what, _MAX_DETAIL_CHARS)
        return self._rest(REST_S, f"{self._host} sent no usable vectors: {shown}")

    def _rest(self, duration_s: float, why: str) -> EmbedderUnavailable:
        self._resting_until_s = self._clock.monotonic_s() + duration_s
        self._why = why
        return EmbedderUnavailable(why)

    def _refuse_while_resting(self) -> None:
        left_s = self._resting_until_s - self._clock.monotonic_s()
        if self._why and left_s > 0:
            raise EmbedderUnavailable(f"{self._why}; next attempt in {left_s:.0f} s")


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    chars = 0
    for text in texts:
        if batch and (len(batch) == MAX_TEXTS or chars + len(text) > MAX_REQUEST_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(text)
        chars += len(text)
    if batch:
        yield batch


async def _body(answer: HttpAnswer, limit_bytes: int) -> bytes:
    """Return the body, or a little more than the limit of it."""
    pieces: list[bytes] = []
    size = 0
    while size <= limit_bytes and (piece := await answer.read()):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _seconds(header: str) -> float | None:
    """Return the seconds of a Retry-After header; a date, which is rare, counts as none."""
    return float(header) if header.isascii() and header.isdigit() else None


def _clean(text: str) -> str:
    return text[:MAX_CHARS].encode(errors="replace").decode() or _NOTHING
