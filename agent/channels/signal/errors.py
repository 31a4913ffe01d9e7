"""Failures of the daemon, in words that say what to do.

They come with HTTP 200, as an error or as results of which none is a success; only the codes and
types of the documentation are relied on.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable, MessageRefused
from agent.text.printable import printable_line

# A refusal in words; a page of somebody else's is cut here
MAX_REASON_CHARS = 200
# Where the platform asked for a pause and did not say how long
DEFAULT_RETRY_S = 60.0
# Nothing that is asked for is further away, and a hostile number must not silence us for ever
MAX_RETRY_S = 24 * 3600.0

_SUCCESS = "SUCCESS"
# Errors that say by themselves what the results say
_KINDS = {-4: "IDENTITY_FAILURE", -5: "RATE_LIMIT_FAILURE"}
_NO_METHOD, _BAD_PARAMETERS = -32601, -32602
# No network, and whatever the daemon did not foresee
_PASSING = frozenset({-3, -32603})
_MISDIRECTED, _NOT_FOUND, _SERVER_ERRORS = 421, 404, 500


class SignalMethodMissing(ChannelRefused):
    """The daemon lacks this method: it is older, or serves only one account."""


def refused(method: str, error: Mapping[str, Any]) -> ChannelError:
    """Return the error to raise for an answer's `error`."""
    code = error.get("code")
    said = printable_line(str(error.get("message") or ""), MAX_REASON_CHARS) or "without a reason"
    results = _results(error)
    if code == _NO_METHOD:
        return SignalMethodMissing(f"this signal-cli daemon has no {method}: is it up to date?")
    if code == _BAD_PARAMETERS and "account" in said.lower():
        return ChannelRefused(
            f"signal-cli does not know the account ({said}): `barnacle signal link` links one, "
            "channels.signal.account says which is meant"
        )
    if code in _KINDS:
        return _failed(_KINDS[code], results)
    if results:
        return unsent(results)
    if code in _PASSING and "AttachmentInvalid" not in said:
        return ChannelUnavailable(f"signal-cli could not do {method}: {said}")
    return MessageRefused(f"signal-cli refused {method}: {said}")


def is_sent(result: object) -> bool:
    """Return true if somebody got it; older daemons do not tell."""
    results = _results({"data": {"response": result}})
    return not results or any(_type(one) == _SUCCESS for one in results)


def unsent(results: list[dict[str, Any]]) -> ChannelError:
    """Return the error for a message that nobody got: temporary reasons first."""
    types = [_type(one) for one in results]
    for kind in ("NETWORK_FAILURE", "RATE_LIMIT_FAILURE", "IDENTITY_FAILURE"):
        if kind in types:
            return _failed(kind, results)
    return _failed(types[0] if types else "", results)


def unsent_of(result: object) -> ChannelError:
    """Return the error for a result that `is_sent` denies."""
    return unsent(_results({"data": {"response": result}}))


def wrong_status(status: int, host: str) -> ChannelError:
    """Return the error for an undocumented HTTP status."""
    if status >= _SERVER_ERRORS:
        return ChannelUnavailable(f"signal-cli at {host} is in trouble (HTTP {status})")
    if status == _MISDIRECTED:
        return ChannelRefused(
            f"signal-cli does not want to be called {host}: "
            "give channels.signal.base_url the address that it was started with"
        )
    return ChannelRefused(
        f"what answers at {host} is no signal-cli daemon (HTTP {status}): start one by "
        "`signal-cli daemon --http`, and is channels.signal.base_url right?"
    )


def _failed(kind: str, results: list[dict[str, Any]]) -> ChannelError:
    who = next(filter(None, map(_person, results)), "this person")
    if kind == "NETWORK_FAILURE":
        return ChannelUnavailable("signal-cli could not reach Signal's servers")
    if kind == "RATE_LIMIT_FAILURE":
        return _limited(results)
    if kind == "IDENTITY_FAILURE":
        return MessageRefused(
            f"the safety number of {who} has changed, perhaps with a new phone, so nothing is sent "
            f"there: compare it with theirs, then, while the daemon is stopped, `signal-cli trust "
            f"--verified-safety-number NUMBER {who}`"
        )
    if kind == "UNREGISTERED_FAILURE":
        return MessageRefused(f"{who} is not on Signal any more")
    told = printable_line(kind, MAX_REASON_CHARS) or "without a reason"
    return MessageRefused(f"signal-cli could not send to {who}: {told}")


def _limited(results: list[dict[str, Any]]) -> ChannelError:
    pauses = [one.get("retryAfterSeconds") for one in results]
    asked = [float(pause) for pause in pauses if isinstance(pause, int | float) and pause > 0]
    token = next((one["token"] for one in results if isinstance(one.get("token"), str)), "")
    proof = (
        f"; sooner with a proof that a person is here: `signal-cli submitRateLimitChallenge "
        f"--challenge {printable_line(token, MAX_REASON_CHARS)} --captcha CAPTCHA`"
        if token
        else ""
    )
    return ChannelUnavailable(
        f"Signal was sent too much and takes nothing for a while{proof}",
        retry_after_s=min(max(asked, default=DEFAULT_RETRY_S), MAX_RETRY_S),
    )


def _results(error: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list(_found(error.get("data")))


def _found(data: object) -> Iterator[dict[str, Any]]:
    response = data.get("response") if isinstance(data, dict) else None
    results = response.get("results") if isinstance(response, dict) else None
    if isinstance(results, list):
        yield from (one for one in results if isinstance(one, dict))


def _type(result: Mapping[str, Any]) -> str:
    return str(result.get("type") or "")


def _person(result: Mapping[str, Any]) -> str:
    address = result.get("recipientAddress")
    if not isinstance(address, dict):
        return ""
    known = address.get("number") or address.get("uuid") or ""
    return printable_line(str(known), MAX_REASON_CHARS)
