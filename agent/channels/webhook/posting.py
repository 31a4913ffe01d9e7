"""Posts a message to a program, and says what its answer means for the message."""

from collections.abc import Mapping

from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused, NetworkError
from agent.http import HttpAnswer, HttpClient, HttpRequest

# A program takes the message and works later
ANSWER_TIMEOUT_S = 15.0
# Whoever asks for more is asked again after this
MAX_RETRY_AFTER_S = 3600.0
# The program, or what is before it, does not know us
_NOT_OURS = frozenset({401, 403, 404, 405, 410})
# It will never take this one
_NEVER = frozenset({400, 413, 415, 422})
_TAKEN = range(200, 300)


async def post(http: HttpClient, url: str, headers: Mapping[str, str], body: bytes) -> None:
    """Return when the program has it.

    Raises:
        ChannelUnavailable: later, perhaps.
        ChannelRefused: a person has to look.
        MessageRefused: never.
    """
    sent = {**headers, "content-type": "application/json"}
    try:
        async with http.exchange(HttpRequest("POST", url, sent, body), ANSWER_TIMEOUT_S) as answer:
            _understand(answer)
    except NetworkError as err:
        raise ChannelUnavailable(f"webhook: {err}") from err


def _understand(answer: HttpAnswer) -> None:
    said = f"webhook: {answer.host} answered {answer.status}"
    if answer.status in _TAKEN:
        return
    if answer.status in _NEVER:
        raise MessageRefused(said)
    if answer.status in _NOT_OURS:
        raise ChannelRefused(f"{said}: look at channels.webhook.reply_url and the secret")
    raise ChannelUnavailable(said, retry_after_s=_retry_after_s(answer.header("retry-after")))


def _retry_after_s(told: str) -> float | None:
    is_number = told.isascii() and told.isdigit() and len(told) < 10  # noqa: PLR2004 - no huge ints
    return min(float(told), MAX_RETRY_AFTER_S) if is_number else None
