"""What a service says when it does not answer, told as one of our errors with one sentence.

Decided by status and error code, then by the service's words, never by digits found in a text.
"""

import math
import re
import time
from dataclasses import dataclass

from agent.errors import ProviderError, ProviderRefused, TransientProviderError
from agent.printable import printable_line
from agent.providers import wire
from agent.security.redact import Redactor

# Of a service's own words: enough to act on
MAX_DETAIL_CHARS = 500
# Services that ask for hours are asked again sooner: the caller decides whether to wait at all
MAX_RETRY_AFTER_S = 120.0

_PAYMENT_REQUIRED = 402
_NOT_FOUND = 404
_TOO_MANY = 429
_OUR_FAULT = 400
_OWN_FAULT = 500
_BAD_KEY = frozenset({401, 403})
_TOO_EARLY = frozenset({408, 409, 425, 429})
_QUOTA_CODES = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "insufficient_balance", "1113", "1311"}
)
_QUOTA_WORDS = re.compile(
    r"insufficient.(balance|quota|credit)|exceeded your current quota|quota exhausted"
    r"|out of credits|credit balance is too low|plan does not include",
    re.IGNORECASE,
)
# A service that says when to come back is not out of quota for good
_COMES_BACK = re.compile(r"retrydelay|(retry|try again) in", re.IGNORECASE)
_PUT_KEY = "put a valid one into provider.api_key or OPENAI_API_KEY"
_ELSEWHERE = "a sign-in page of this network answers, or provider.base_url is wrong"


@dataclass(frozen=True, slots=True)
class Service:
    """Whom a request went to.

    Args:
        key_source: the setting or variable that the key came from; empty if none was sent.
    """

    url: str
    host: str
    model: str
    key_source: str
    redactor: Redactor

    def shown(self, words: str) -> str:
        """Words of the service, fit for people."""
        return printable_line(self.redactor.redact(words), MAX_DETAIL_CHARS).strip()


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer with a status that is not success."""

    status: int
    body: str = ""
    retry_after: str = ""


@dataclass(frozen=True, slots=True)
class _Complaint:
    """An error in the one shape that is looked at here."""

    message: str = ""
    codes: tuple[str, ...] = ()
    param: str = ""


def explain(service: Service, refusal: Refusal) -> ProviderError:
    """The error to raise for it."""
    complaint = _read(refusal.body)
    if _is_out_of_quota(refusal, complaint):
        return _no_quota(service, refusal.status, complaint)
    error = _by_status(service, refusal.status, complaint)
    if isinstance(error, TransientProviderError):
        error.retry_after_s = retry_after_s(refusal.retry_after)
    return error


def explain_event(service: Service, chunk: wire.Chunk) -> ProviderError:
    """The error to raise for one in the middle of an answer that had begun well."""
    body = chunk.error if chunk.error is not None else chunk.message
    complaint = _shaped({"error": body})
    numbers = [int(code) for code in complaint.codes if re.fullmatch("[45][0-9][0-9]", code)]
    # Whoever began to answer can do it: without a number it is taken for an accident
    status = (numbers or [_OWN_FAULT])[0]
    if _is_out_of_quota(Refusal(status, str(body)), complaint):
        return _no_quota(service, status, complaint)
    return _by_status(service, status, complaint)


def named_parameter(body: str) -> str:
    """What a service says is wrong with a request: its words and the parameter it names."""
    complaint = _read(body)
    return f"{complaint.message} {complaint.param}"


def web_page(service: Service) -> TransientProviderError:
    """The error to raise for a page where an answer should be."""
    return TransientProviderError(
        f"{service.host} answered with a web page instead of a completion: {_ELSEWHERE}"
    )


def retry_after_s(header: str, now_s: float | None = None) -> float | None:
    """Seconds from a Retry-After header in either of its forms; None if it says nothing usable."""
    try:
        wait_s = float(header)
    except ValueError:
        wait_s = _seconds_until(header, time.time() if now_s is None else now_s)
    if not math.isfinite(wait_s) or wait_s < 0:
        return None
    return min(wait_s, MAX_RETRY_AFTER_S)


def _seconds_until(date: str, now_s: float) -> float:
    import email.utils  # noqa: PLC0415 - a rare form of a rare header, and slow to import

    try:
        return email.utils.parsedate_to_datetime(date).timestamp() - now_s
    except (ValueError, OverflowError):
        return math.nan


def _is_out_of_quota(refusal: Refusal, complaint: _Complaint) -> bool:
    if refusal.status == _PAYMENT_REQUIRED or not _QUOTA_CODES.isdisjoint(complaint.codes):
        return True
    if refusal.status != _TOO_MANY or refusal.retry_after or _COMES_BACK.search(refusal.body):
        return False
    return _QUOTA_WORDS.search(refusal.body) is not None


def _no_quota(service: Service, status: int, complaint: _Complaint) -> ProviderRefused:
    said = _said(service, status, complaint)
    return ProviderRefused(f"the account at {service.host} has no quota left{said}")


def _by_status(service: Service, status: int, complaint: _Complaint) -> ProviderError:
    said = _said(service, status, complaint)
    host = service.host
    if status in _BAD_KEY and service.key_source:
        return ProviderRefused(
            f"{host} refused the key from {service.key_source}{said}: {_PUT_KEY}"
        )
    if status in _BAD_KEY:
        return ProviderRefused(f"{host} wants a key{said}: {_PUT_KEY}")
    if status == _NOT_FOUND:
        return ProviderRefused(_not_found(service, said, complaint.message))
    if status in _TOO_EARLY or status >= _OWN_FAULT:
        return TransientProviderError(f"{host} cannot answer now{said}")
    if status < _OUR_FAULT:
        return TransientProviderError(f"{host} sends us elsewhere{said}: {_ELSEWHERE}")
    return ProviderRefused(f"{host} refused the request{said}")


def _said(service: Service, status: int, complaint: _Complaint) -> str:
    detail = service.shown(complaint.message)
    return f" ({status}: {detail})" if detail else f" ({status})"


def _not_found(service: Service, said: str, message: str) -> str:
    if "model" in message.lower() or service.model in message:
        return f"{service.host} has no model {service.model} for you{said}: change provider.model"
    return f"there is nothing at {service.url}{said}: change provider.base_url"


def _read(body: str) -> _Complaint:
    """An error body in any of the shapes that services use."""
    try:
        return _shaped(wire.parse(body))
    except wire.WireError:
        is_page = body.lstrip().startswith("<")
        return _Complaint("" if is_page else body)


def _shaped(body: object) -> _Complaint:
    if isinstance(body, list) and body:
        return _shaped(body[0])
    if not isinstance(body, dict):
        return _Complaint("" if body is None else str(body))
    inner = body.get("error", body.get("detail"))
    if isinstance(inner, dict):
        return _shaped(inner)
    if inner is not None:
        return _Complaint(str(inner))
    codes = tuple(str(body[key]) for key in ("code", "type") if body.get(key))
    return _Complaint(str(body.get("message") or ""), codes, str(body.get("param") or ""))
