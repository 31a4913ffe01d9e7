"""HTTP calls to a platform's server: the parts that all clients share.

An answer is read whole, up to a limit, and is JSON or nothing. What its status and its words mean
is each platform's own affair. No address and no header gets into an error.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from agent.errors import ChannelUnavailable, NetworkError
from agent.net.http import FIRST_BYTE_TIMEOUT_S, HttpAnswer, HttpClient, HttpRequest
from agent.text.printable import printable_line

# The servers answer in a fraction of it; a phone network in between takes its time
CALL_TIMEOUT_S = 15.0
# Sending a large file over a slow line; the server answers when it has all of it
UPLOAD_TIMEOUT_S = 120.0
# No answer to a call is longer; platforms that tell of many events at once have limits of their own
MAX_ANSWER_BYTES = 1024 * 1024
# A refusal in words; a page of HTML from something in between is cut here
MAX_REASON_CHARS = 200
# Where the platform asked for no time but was asked too often
DEFAULT_RETRY_S = 5.0
# Nothing that is asked for is further away, and a hostile number must not silence a chat for ever
MAX_RETRY_S = 3600.0
OK, BAD_REQUEST, UNAUTHORIZED, FORBIDDEN, NOT_FOUND = 200, 400, 401, 403, 404
CONFLICT, TOO_LARGE, TOO_MANY, SERVER_ERRORS = 409, 413, 429, 500


class AnswerTooLong(ChannelUnavailable):
    """The answer is longer than anything that was to be expected; less of it may be asked for."""


class RestReply(Struct, frozen=True):
    """Answer, read whole.

    Args:
        told: what its JSON says; None of a page that something in between has sent.
        header: the value of the header of that name; empty if there is none.
    """

    status: int
    host: str
    told: Any
    header: Callable[[str], str]

    @property
    def fields(self) -> dict[str, Any]:
        """Return the object of the answer; empty if it is none."""
        return self.told if isinstance(self.told, dict) else {}


def json_request(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: object = None,
    *,
    is_held_open: bool = False,
) -> HttpRequest:
    """Return a request with `body` as JSON; None means no body."""
    if body is None:
        return HttpRequest(method, url, headers, is_held_open=is_held_open)
    content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    typed = {"content-type": "application/json", **headers}
    return HttpRequest(method, url, typed, content, is_held_open=is_held_open)


@asynccontextmanager
async def answering(
    http: HttpClient, request: HttpRequest, timeout_s: float = FIRST_BYTE_TIMEOUT_S
) -> AsyncIterator[HttpAnswer]:
    """Yield the answer while it comes.

    Raises:
        ChannelUnavailable: there is none, or it breaks off.
    """
    try:
        async with http.exchange(request, timeout_s) as answer:
            yield answer
    except NetworkError as err:
        raise ChannelUnavailable(str(err)) from err


@asynccontextmanager
async def file_from(
    http: HttpClient, request: HttpRequest, timeout_s: float = FIRST_BYTE_TIMEOUT_S
) -> AsyncIterator[HttpAnswer]:
    """Yield the answer with a file; raises on any other status."""
    async with answering(http, request, timeout_s) as answer:
        if answer.status != OK:
            raise ChannelUnavailable(f"{answer.host} answered {answer.status} to a download")
        yield answer


async def asked(
    http: HttpClient,
    request: HttpRequest,
    timeout_s: float = CALL_TIMEOUT_S,
    max_bytes: int = MAX_ANSWER_BYTES,
) -> RestReply:
    """Return the answer, whatever its status.

    Raises:
        ChannelUnavailable: there is none.
        AnswerTooLong: there is too much of it.
    """
    async with answering(http, request, timeout_s) as answer:
        return await whole(answer, max_bytes)


async def whole(answer: HttpAnswer, max_bytes: int = MAX_ANSWER_BYTES) -> RestReply:
    """Return the whole of `answer`; raises as `asked` does."""
    content = bytearray()
    while piece := await answer.read():
        content += piece
        if len(content) > max_bytes:
            raise AnswerTooLong(f"answer of {answer.host} too long")
    return RestReply(answer.status, answer.host, _json_in(content), answer.header)


def reason_in(told: object) -> str:
    """Return the words of a refusal, fit for a log line; may be empty."""
    return printable_line(told, MAX_REASON_CHARS) if isinstance(told, str) else ""


def seconds(told: object, usual_s: float = DEFAULT_RETRY_S, most_s: float = MAX_RETRY_S) -> float:
    """Return a time that a platform names in seconds; `usual_s` if there is none."""
    try:
        wait_s = float(told)  # type: ignore[arg-type]  # what is no number is caught
    except (TypeError, ValueError, OverflowError):
        return usual_s
    return min(wait_s, most_s) if wait_s > 0 else usual_s


def _json_in(content: bytearray) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
