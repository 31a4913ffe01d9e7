"""Failures of a service, turned into one of our errors with one sentence.

Decided by status and error code, then by the service's words, never by digits found in a text. The
time to wait is told by headers in several ways: `6m0s`, seconds, milliseconds, a date, the time
since 1970. The limit that is used up counts, not the one that ends last.
"""

import math
import re
import time
from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct, field

from agent.errors import (
    ContextOverflow,
    KeyRefused,
    PicturesRefused,
    ProviderError,
    ProviderRefused,
    QuotaExhausted,
    RateLimited,
    ToolsUnsupported,
    TransientProviderError,
)
from agent.providers import complaints, waits
from agent.providers.complaints import Complaint
from agent.security.redact import Redactor
from agent.text.printable import printable_line

# Of a service's own words: enough to act on
MAX_DETAIL_CHARS = 500
# Services that ask for hours are asked again sooner: the caller decides whether to wait at all
MAX_RETRY_AFTER_S = 120.0

_PAYMENT_REQUIRED = 402
_FORBIDDEN = 403
_NOT_FOUND = 404
TOO_MANY = 429
_OUR_FAULT = 400
# Services that run out of a person's money say so by any of these
_MAY_BE_QUOTA = frozenset({400, 403, TOO_MANY})
_OWN_FAULT = 500
_BAD_KEY = frozenset({401, _FORBIDDEN})
_TOO_EARLY = frozenset({408, 409, 425})
# llama.cpp and MLX refuse with 500 what does not fit any more
_MAY_BE_TOO_LONG = frozenset({400, 422, 500})
# llama.cpp refuses tools with 500
_MAY_REFUSE_TOOLS = frozenset({400, 404, 422, 500, 501})
# Without pictures, a conversation that is too long is all it can mean, be it by a limit for each
# minute
_TOO_LARGE = 413
# llama.cpp and Ollama refuse with 500 what their models do not see
_MAY_REFUSE_PICTURES = frozenset({400, 404, 413, 415, 422, 500})
# Where an error has no status: in the middle of a stream
_STATUS_OF_CODE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "too_many_requests": 429,
    "overloaded_error": 529,
    # MiniMax, which says all of it with 200: parameters, plan, key, rate
    **dict.fromkeys(("base_resp.2013", "base_resp.2061"), 400),
    **dict.fromkeys(("base_resp.1004", "base_resp.2049"), 401),
    **dict.fromkeys(("base_resp.1002", "base_resp.1039", "base_resp.2062"), 429),
}
_PUT_KEY = "set a valid key in provider.api_key or the service's own variable"
_BLOCKED = "this network, or a guard before the service, does not let the device through"
_ELSEWHERE = "this network may show a sign-in page, or provider.base_url is wrong"
# `x-ratelimit-reset-tokens`, `anthropic-ratelimit-tokens-reset`, `ratelimit-reset`
_RESET = re.compile(r"(?P<before>.*ratelimit-(?:.*-)?)reset(?P<after>(?:-.*)?)")
_NUMBER = re.compile(r"[0-9]{1,13}(?:\.[0-9]{1,9})?")
# Later than any number of seconds to wait, earlier than any time since 1970 that is to come
_SINCE_1970 = 1_000_000_000.0
# The same in milliseconds
_SINCE_1970_MS = 1_000_000_000_000.0


class ServiceTarget(Struct, frozen=True):
    """Target of a request.

    Args:
        key_source: the setting or variable that the key came from; empty if none was sent.
        has_pictures: the request has some.
    """

    url: str
    host: str
    model: str
    key_source: str
    redactor: Redactor
    has_pictures: bool = False

    def shown(self, words: str) -> str:
        """Words of the service, fit for people."""
        return printable_line(self.redactor.redact(words), MAX_DETAIL_CHARS).strip()


class ServiceRefusal(Struct, frozen=True):
    """An answer with a status that is not success.

    Args:
        limits: headers that may tell when a limit is renewed, their names in lower case.
    """

    status: int
    body: str = ""
    retry_after: str = ""
    limits: Mapping[str, str] = field(default_factory=dict)


def explain(service: ServiceTarget, refusal: ServiceRefusal) -> ProviderError:
    """Return the error to raise for a refusal."""
    return _explained(service, refusal, complaints.read(refusal.body))


def explain_event(service: ServiceTarget, told: object) -> ProviderError:
    """Return the error to raise for a failure in the middle of an answer."""
    complaint = complaints.shaped({"error": told})
    numbers = [int(code) for code in complaint.codes if re.fullmatch("[45][0-9][0-9]", code)]
    numbers += [_STATUS_OF_CODE[code] for code in complaint.codes if code in _STATUS_OF_CODE]
    # Whoever began to answer can do it: without a number it is taken for an accident
    return _explained(service, ServiceRefusal((numbers or [_OWN_FAULT])[0], str(told)), complaint)


def named_parameter(body: str) -> str:
    """Return the service's complaint about a request, with the parameter it names."""
    complaint = complaints.read(body)
    return f"{complaint.message} {complaint.param}"


def web_page(service: ServiceTarget) -> TransientProviderError:
    """Return the error to raise for a page in place of an answer."""
    return TransientProviderError(
        f"{service.host} answered with a web page instead of a completion: {_ELSEWHERE}"
    )


def retry_after_s(header: str, now_s: float | None = None) -> float | None:
    """Return the seconds of a Retry-After header, in any form; None if it is not usable."""
    try:
        wait_s = float(header)
    except ValueError:
        span_s = waits.span_s(header)
        moment_s = time.time() if now_s is None else now_s
        wait_s = _seconds_until(header, moment_s) if span_s is None else span_s
    if not math.isfinite(wait_s) or wait_s < 0:
        return None
    return min(wait_s, MAX_RETRY_AFTER_S)


def _seconds_until(date: str, now_s: float) -> float:
    import email.utils  # noqa: PLC0415 - a rare form of a rare header, and slow to import

    try:
        return email.utils.parsedate_to_datetime(date).timestamp() - now_s
    except (ValueError, OverflowError):
        return math.nan


def _explained(
    service: ServiceTarget, refusal: ServiceRefusal, complaint: Complaint
) -> ProviderError:
    if refusal.status == _FORBIDDEN and complaints.is_page(refusal.body):
        # Nobody has looked at the key
        return TransientProviderError(
            f"{service.host} answered with a web page ({_FORBIDDEN}): {_BLOCKED}"
        )
    error = _named(service, refusal, complaint)
    if isinstance(error, TransientProviderError):
        asked = (refusal.retry_after, complaint.wait, complaint.wait_in_words)
        waits_s = (retry_after_s(one) for one in (*asked, _renewed_in(refusal)) if one)
        error.retry_after_s = next((one for one in waits_s if one is not None), None)
    return error


def _renewed_in(refusal: ServiceRefusal) -> str:
    """Return the seconds until a limit is renewed; empty if no header tells it."""
    wait_s = renewal_wait_s(refusal.limits, time.time())
    return "" if wait_s is None else str(wait_s)


def _named(service: ServiceTarget, refusal: ServiceRefusal, complaint: Complaint) -> ProviderError:
    said = _said(service, refusal.status, complaint)
    if _is_out_of_quota(refusal, complaint):
        return QuotaExhausted(f"the account at {service.host} has no quota left{said}")
    if refusal.status in _BAD_KEY and complaint.is_about_contents:
        return ProviderRefused(f"{service.host} refused what was said{said}: put it another way")
    if service.has_pictures and _is_about_pictures(refusal, complaint):
        return PicturesRefused(f"{service.host} refused a picture{said}")
    if _is_about_length(refusal, complaint):
        return ContextOverflow(
            f"the conversation is too long for {service.model}{said}",
            complaints.window(refusal.body),
        )
    if refusal.status in _MAY_REFUSE_TOOLS and complaint.is_about_tools:
        is_lasting = not complaint.is_about_one_call
        what = "takes no tools" if is_lasting else "made an invalid tool call"
        return ToolsUnsupported(
            f"{service.model} at {service.host} {what}{said}", is_lasting=is_lasting
        )
    return _by_status(service, refusal.status, complaint, said)


def _is_about_length(refusal: ServiceRefusal, complaint: Complaint) -> bool:
    if refusal.status == _TOO_LARGE:
        return True
    if refusal.status in _MAY_BE_TOO_LONG and complaint.sounds_like_length:
        return True
    return refusal.status not in _BAD_KEY and complaint.is_about_length


def _is_about_pictures(refusal: ServiceRefusal, complaint: Complaint) -> bool:
    if refusal.status == _TOO_LARGE:
        return not complaint.is_about_tokens
    return refusal.status in _MAY_REFUSE_PICTURES and complaint.is_about_pictures


def _is_out_of_quota(refusal: ServiceRefusal, complaint: Complaint) -> bool:
    if refusal.status == _PAYMENT_REQUIRED or complaint.names_no_quota:
        return True
    if refusal.status not in _MAY_BE_QUOTA or refusal.retry_after:
        return False
    return complaint.sounds_like_no_quota(refusal.body)


def _by_status(
    service: ServiceTarget, status: int, complaint: Complaint, said: str
) -> ProviderError:
    if status in _BAD_KEY or complaint.names_bad_key:
        return KeyRefused(_key_refused(service, said))
    if status == _NOT_FOUND or (status == _OUR_FAULT and complaint.names_no_model):
        return ProviderRefused(_not_found(service, said, complaint))
    if status == TOO_MANY:
        return RateLimited(f"{service.host} is asked too often just now{said}: try again later")
    if status in _TOO_EARLY or status >= _OWN_FAULT:
        return TransientProviderError(f"{service.host} cannot answer now{said}")
    if status < _OUR_FAULT:
        return TransientProviderError(f"{service.host} redirects elsewhere{said}: {_ELSEWHERE}")
    return ProviderRefused(f"{service.host} refused the request{said}")


def _key_refused(service: ServiceTarget, said: str) -> str:
    if service.key_source:
        return f"{service.host} refused the key from {service.key_source}{said}: {_PUT_KEY}"
    return f"{service.host} needs a key{said}: {_PUT_KEY}"


def _said(service: ServiceTarget, status: int, complaint: Complaint) -> str:
    detail = service.shown(complaint.message)
    return f" ({status}: {detail})" if detail else f" ({status})"


def _not_found(service: ServiceTarget, said: str, complaint: Complaint) -> str:
    message = complaint.message
    if "v1/responses" in message:
        return (
            f"{service.host} has {service.model} in another wire format only{said}: set "
            'provider.kind to "openai-responses"'
        )
    if complaint.names_no_model or "model" in message.lower() or service.model in message:
        return (
            f"{service.host} has no model {service.model} for this key{said}: change provider.model"
        )
    return f"{service.url} does not exist{said}: change provider.base_url"


def renewal_wait_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """Return the seconds until a request may pass again; None where no header says so.

    Args:
        headers: with names in lower case.
        now_s: time since 1970.
    """
    renewals = []
    for name, value in headers.items():
        found = _RESET.fullmatch(name)
        wait = None if found is None else _wait_s(value.strip(), now_s)
        if found is not None and wait is not None:
            left = headers.get(f"{found['before']}remaining{found['after']}", "")
            renewals.append((wait, left.strip()))
    used_up = [wait for wait, left in renewals if left in {"0", "0.0"}]
    # All that are used up have to be renewed; of unknown ones, the first may do
    return max(used_up) if used_up else _first(wait for wait, _ in renewals)


def _first(renewals: Iterable[float]) -> float | None:
    return min(renewals, default=None)


def _wait_s(value: str, now_s: float) -> float | None:
    if _NUMBER.fullmatch(value):
        return _of_number(float(value), now_s)
    if (span_s := waits.span_s(value)) is not None:
        return span_s
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    # Without a zone it is nobody's time
    return max(0.0, moment.timestamp() - now_s) if moment.tzinfo is not None else None


def _of_number(value: float, now_s: float) -> float:
    if value >= _SINCE_1970_MS:
        value /= 1000
    return max(0.0, value - now_s) if value >= _SINCE_1970 else value
