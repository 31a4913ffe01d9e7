"""Decision whether a letter that somebody vouches for was written to the agent, and of late.

A signature (DKIM) holds wherever a letter is handed in, and whenever: whoever got a letter of the
owner's can hand it in to the agent, with other fields around it. So the agent has to stand in To or
Cc. Where the author's own servers did not bring the letter (SPF), the signature has to cover that
field and the time, and all that makes a letter another one.
"""

import contextlib
import re
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime

from msgspec import Struct

from agent.channels.email.auth_results import AuthMethodResult, parse_auth_results
from agent.channels.email.header_fields import HeaderField, UnclearHeader, split_header
from agent.channels.email.verification import (
    ADDRESS,
    BELOW_THEIR_RECEIVED,
    PROPERTIES,
    RECEIVED,
    RESULTS,
    THIS_MACHINE,
    domain_of,
    signature_tags,
    topmost_results,
)

# Servers try for hours, and their clocks may be wrong; who was cut off for longer says it again
MAX_APART_S = 24 * 3600.0
NOT_NAMED = (
    "neither To nor Cc names the agent, so it may have been written to somebody else: write to the "
    "agent's own address, or put the one that passes letters on to it into channels.email.aliases"
)
_TO_US = ("to", "cc")
# Without one of these under the signature a letter can come again as another one
_TELLING = ("subject", "message-id")
_DIGITS = re.compile(r"[0-9]{1,12}")
# Names of people, which are what they like
_NAMES = re.compile(
    r"\"(?:[^\"\\]|\\.)*\"|\((?:[^()\\]|\\.)*\)|=\?[^?\s]{1,40}\?[bq]\?[^?\s]*\?=", re.IGNORECASE
)
_LEFT_OF_NAMES = re.compile(r"[\"()\\]")
_RECIPIENT = re.compile(rf"[^<>@]*<({ADDRESS})>\s*|\s*({ADDRESS})\s*")


class EmailReceiver(Struct, frozen=True):
    """The agent as one who gets letters.

    Args:
        server: the receiving server, by the name that it puts before its results (`authserv-id`).
        addresses: at which people write to the agent, also those that pass letters on to it.
    """

    server: str
    addresses: tuple[str, ...]

    def is_at(self, address: str) -> bool:
        """Return true for an address of ours, or one with a word after `+`."""
        name, _, domain = address.lower().rpartition("@")
        plain = f"{name.partition('+')[0]}@{domain}"
        return not {address.lower(), plain}.isdisjoint(one.lower() for one in self.addresses)


def why_replayed(raw: bytes, sender: str, receiver: EmailReceiver, came_at_s: float) -> str:
    """Return why a verified letter may be meant for somebody else, or old; empty if it is not.

    Args:
        raw: the letter, or its header.
        came_at_s: when the server got it.
    """
    domain = sender.lower().rpartition("@")[2]
    try:
        fields = split_header(raw)
        naming = [one for one in fields if one.name in _TO_US and _names(one, receiver)]
        if not naming:
            return NOT_NAMED
        checks = _own_checks(fields, receiver.server.lower())
        if not _is_from_own_servers(checks, domain):
            for signature in _signatures(fields, checks, domain):
                covered = signature.get("h", "").lower().split(":")
                _check_covered(fields, covered, naming)
                _check_whole(signature)
                _check_time(fields, signature, covered, came_at_s)
    except UnclearHeader as err:
        return str(err)
    return ""


def _names(field: HeaderField, receiver: EmailReceiver) -> bool:
    bare = _NAMES.sub("", field.value)
    if _LEFT_OF_NAMES.search(bare):
        return False
    found = (_RECIPIENT.fullmatch(one) for one in re.split("[,;:]", bare))
    return any(receiver.is_at(one[1] or one[2]) for one in found if one)


def _is_from_own_servers(checks: Sequence[AuthMethodResult], domain: str) -> bool:
    """Return true if the domain in From names those that brought the letter as its own."""
    return any(one.result == "pass" and _sent_for(one) == domain for one in checks)


def _sent_for(check: AuthMethodResult) -> str:
    """Return the domain that SPF was asked about; empty for another check."""
    return domain_of(check, PROPERTIES["spf"]) if check.method == "spf" else ""


def _own_checks(fields: Sequence[HeaderField], server: str) -> list[AuthMethodResult]:
    """Return what the server says: above its first Received nothing came from outside."""
    place, results = topmost_results(fields, server)
    found = [*results.results]
    for field in fields[place + 1 :] if server not in BELOW_THEIR_RECEIVED else ():
        if field.name == "received" and _is_from_outside(field):
            break
        if field.name == RESULTS:
            # What cannot be read proves nothing
            with contextlib.suppress(UnclearHeader):
                lower = parse_auth_results(field.value)
                found += lower.results if lower.server == server else ()
    return found


def _is_from_outside(received: HeaderField) -> bool:
    found = RECEIVED.search(received.value)
    return found is None or found[1] not in THIS_MACHINE


def _signatures(
    fields: Sequence[HeaderField], checks: Sequence[AuthMethodResult], domain: str
) -> Sequence[Mapping[str, str]]:
    """Return every signature that may be the one that vouches: which one it is, many do not say."""
    every = [dict(signature_tags(one.value)) for one in fields if one.name == "dkim-signature"]
    found = [one for one in every if _family(one.get("d", "")) == _family(domain)]
    if not found and not _is_by_servers(checks, domain):
        raise UnclearHeader("the signature (DKIM) that vouches for it is not there any more")
    return found


def _is_by_servers(checks: Sequence[AuthMethodResult], domain: str) -> bool:
    """Return true if DMARC can only have gone by the servers that brought an unsigned letter."""
    sent = [one for one in checks if one.method == "spf"]
    is_sent = any(
        one.result == "pass" and _family(_sent_for(one)) == _family(domain) for one in sent
    )
    has_passed = any(one.method == "dmarc" and one.result == "pass" for one in checks)
    return has_passed and (is_sent or not sent)


def _family(domain: str) -> list[str]:
    """Return the end that a domain has in common with all that may sign for it."""
    return domain.lower().split(".")[-2:]


def _check_covered(
    fields: Sequence[HeaderField], covered: Sequence[str], naming: Sequence[HeaderField]
) -> None:
    counts = {name: sum(one.name == name for one in fields) for name in (*_TO_US, *_TELLING)}
    if not any(counts[one.name] == 1 and one.name in covered for one in naming):
        raise UnclearHeader(
            "its signature (DKIM) does not cover the To or Cc that names the agent, so somebody "
            "else may have written it there: hand it in straight by the servers of its domain (SPF)"
        )
    for name in _TELLING:
        if counts[name] > 1 or (counts[name] and name not in covered):
            raise UnclearHeader(f"its signature (DKIM) does not cover its {name}")


def _check_whole(signature: Mapping[str, str]) -> None:
    if "l" in signature:
        raise UnclearHeader("its signature (DKIM) covers a part of its text (l=)")


def _check_time(
    fields: Sequence[HeaderField],
    signature: Mapping[str, str],
    covered: Sequence[str],
    came_at_s: float,
) -> None:
    """Refuse a letter that was signed long before it came here."""
    signed_at_s = _signed_at_s(fields, signature, covered)
    if abs(came_at_s - signed_at_s) > MAX_APART_S:
        raise UnclearHeader(
            "it was signed more than a day before or after it came, so it may have been handed in "
            "again: write it anew, and check the clock it was written by"
        )


def _signed_at_s(
    fields: Sequence[HeaderField], signature: Mapping[str, str], covered: Sequence[str]
) -> float:
    if _DIGITS.fullmatch(signature.get("t", "")):
        return float(signature["t"])
    dates = [one.value for one in fields if one.name == "date"]
    if len(dates) != 1 or "date" not in covered:
        raise UnclearHeader("its signature (DKIM) does not say when it was written")
    try:
        return parsedate_to_datetime(dates[0]).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError) as err:
        raise UnclearHeader("its Date is no time") from err
