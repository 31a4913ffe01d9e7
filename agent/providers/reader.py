"""Events of an HTTP answer, which may be a stream or one document.

Reads under three limits at once: time without a byte, time altogether, and size.
"""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.errors import BarnacleError, NetworkError, TransientProviderError
from agent.net.http import BETWEEN_BYTES_TIMEOUT_S, FIRST_BYTE_TIMEOUT_S, HttpAnswer
from agent.providers import failures, service_json
from agent.providers.answer import MAX_ANSWER_BYTES

if TYPE_CHECKING:
    from agent.providers.wire import Splitter

# After its last event a service ends the stream at once; then the connection can be used again
DRAIN_TIMEOUT_S = 0.25
# An error body longer than this is not read to its end
MAX_ERROR_BODY_BYTES = 64 * 1024
_OK = range(200, 300)
_END_OF_STREAM = "[DONE]"
# Of server-sent events: the first letter of a field, or a comment; no object begins so
_LIKE_EVENTS = re.compile(rb"\s*[dier:]")
_MILLISECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


class RequestTimeouts(Struct, frozen=True):
    """Time limits of a request."""

    total_s: float
    first_byte_s: float = FIRST_BYTE_TIMEOUT_S
    between_bytes_s: float = BETWEEN_BYTES_TIMEOUT_S


class Deadline:
    """Moment at which a request has taken too long altogether."""

    def __init__(self, total_s: float) -> None:
        self._total_s = total_s
        self._ends_at_s = asyncio.get_running_loop().time() + total_s

    def left_s(self) -> float:
        """Return the time left.

        Raises:
            TransientProviderError: there is none.
        """
        left_s = self._ends_at_s - asyncio.get_running_loop().time()
        if left_s <= 0:
            raise TransientProviderError(
                f"the answer took longer than {self._total_s:.0f} s (provider.timeout_s)"
            )
        return left_s


class AnswerReader:
    """Reads one answer, once."""

    def __init__(
        self,
        answer: HttpAnswer,
        service: failures.ServiceTarget,
        patience: RequestTimeouts,
        deadline: Deadline,
    ) -> None:
        self._answer = answer
        self._service = service
        self._patience = patience
        self._deadline = deadline
        self._has_seen_event = False

    @property
    def is_ok(self) -> bool:
        return self._answer.status in _OK

    async def refusal(self) -> failures.ServiceRefusal:
        """Return the refusal that came instead of a stream, as far as it can be read."""
        body = b""
        with suppress(BarnacleError):
            while len(body) < MAX_ERROR_BODY_BYTES and (piece := await self._next_piece()):
                body += piece
        text = body[:MAX_ERROR_BODY_BYTES].decode(errors="replace")
        status = self._answer.status
        headers = self._answer.headers() if status == failures.TOO_MANY else {}
        return failures.ServiceRefusal(status, text, self._retry_after(), headers)

    def _retry_after(self) -> str:
        """Return the seconds that the service asks to wait, from whichever header it uses."""
        if _MILLISECONDS.fullmatch(after := self._answer.header("retry-after-ms")):
            return str(float(after) / 1000)
        return self._answer.header("retry-after")

    async def body(self, limit_bytes: int, begun: bytes = b"") -> bytes:
        """Return the whole body; `begun` is what of it was read before.

        Raises:
            TransientProviderError: it is longer than the limit.
        """
        pieces: list[bytes] = []
        left_bytes = limit_bytes
        piece = begun or await self._next_piece()
        while piece:
            left_bytes -= len(piece)
            if left_bytes < 0:
                raise TransientProviderError(
                    f"{self._service.host} sent more than {limit_bytes // 1024} KB"
                )
            pieces.append(piece)
            piece = await self._next_piece()
        return b"".join(pieces)

    async def events(self, splitter: "Splitter") -> AsyncGenerator[str, None]:
        """Yield every event, or one whole document; return when the service said this was all.

        Raises:
            NetworkError: the answer broke off.
            ProviderError: what comes is no completion.
        """
        content_type = self._answer.header("content-type").lower()
        if "html" in content_type:
            raise failures.web_page(self._service)
        piece = await self._next_piece()
        is_json = "json" in content_type and "ndjson" not in content_type
        # Some gateways call a stream so too
        if is_json and _LIKE_EVENTS.match(piece) is None:
            yield (await self.body(MAX_ANSWER_BYTES, piece)).decode(errors="replace")
            return
        while piece:
            for event in splitter.feed(piece):
                if event.strip() == _END_OF_STREAM:
                    await self.drain()
                    return
                if not event.strip():
                    # Gateways hold a connection with these as well
                    continue
                self._has_seen_event = True
                yield event
            piece = await self._next_piece()
        for event in splitter.close():
            # Only whole JSON shows that nothing of an event without its end is missing
            with suppress(service_json.WireError):
                service_json.parse(event)
                yield event
        raise self._ended_early()

    async def drain(self) -> None:
        """Read the end that follows the last event, so that the connection can be used again."""
        with suppress(NetworkError):
            await self._answer.read(DRAIN_TIMEOUT_S)

    def _ended_early(self) -> BarnacleError:
        host = self._service.host
        if self._has_seen_event:
            return NetworkError(f"{host} closed the connection early")
        kind = self._service.shown(self._answer.header("content-type")) or "nothing"
        return TransientProviderError(
            f"{host} sent {kind} instead of a completion: check provider.base_url"
        )

    async def _next_piece(self) -> bytes:
        patience = self._patience
        wait_s = patience.between_bytes_s if self._has_seen_event else patience.first_byte_s
        left_s = self._deadline.left_s()
        try:
            return await self._answer.read(min(wait_s, left_s))
        except NetworkError:
            self._deadline.left_s()
            raise
