"""Decision whether a letter is from the address in its From, as the receiving server vouches.

Anybody can write any name into From. The topmost `Authentication-Results` of the configured server
counts (RFC 8601), and only where it names exactly the domain in From. Whatever is unclear leaves
the letter unverified.

Well-known servers copy text of the sender into their results without quotes: policyd-spf the
envelope's address, OpenDKIM the identity of a signature. Such a field says what its sender likes,
and no parser can tell. So a letter in which one of those texts is not plain is unverified as well.
"""

import re
from collections.abc import Iterator, Sequence

from agent.channels.email.auth_results import AuthMethodResult, AuthResults, parse_auth_results
from agent.channels.email.header_fields import HeaderField, UnclearHeader, split_header

RESULTS = "authentication-results"
# Puts its results below its own Received and removes those that claim to be its own
BELOW_THEIR_RECEIVED = frozenset({"mx.google.com"})
_ATOM = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+"
_LABEL_END = r"(?:[A-Za-z0-9\-]{0,61}[A-Za-z0-9])?"
_DOMAIN = rf"(?:[A-Za-z0-9]{_LABEL_END}\.)+[A-Za-z]{_LABEL_END}"
ADDRESS = rf"{_ATOM}(?:\.{_ATOM})*@{_DOMAIN}"
_NAME = r"(?:\"(?:[^\"\\\x00-\x1f\x7f]|\\[ -~])*\"|[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~. \t])*"
_AUTHOR = re.compile(rf"[ \t]*(?:{_NAME}<(?P<named>{ADDRESS})>|(?P<bare>{ADDRESS}))[ \t]*")
_ENVELOPE = re.compile(rf"\s*(?:<>|<{ADDRESS}>|{ADDRESS})\s*")
# Without `=`, with which a signature spells characters that would be seen
_TAGS = {
    "d": re.compile(_DOMAIN),
    "s": re.compile(r"[A-Za-z0-9_.\-]+"),
    "i": re.compile(rf"[A-Za-z0-9_.+\-]*@{_DOMAIN}"),
}
RECEIVED = re.compile(
    r"\([^()]*\[(?:IPv6:)?([0-9A-Fa-f.:]+)\][^()]*\).*?\sby\s+([^\s;()]+)", re.DOTALL
)
# Which property says whom a check is about, where no DMARC policy decides
PROPERTIES = {"dkim": "header.d", "spf": "smtp.mailfrom"}
THIS_MACHINE = frozenset({"127.0.0.1", "::1"})


def why_unverified(raw: bytes, sender: str, server: str) -> str:
    """Return why nobody vouches for `sender` as the author; empty where the server does.

    Args:
        raw: the letter, or its header.
        server: its name in what it writes, `authserv-id`.
    """
    if not server:
        return "no server is configured (authserv_id)"
    try:
        fields = split_header(raw)
        if _author(fields) != sender.lower():
            return "its From can be read in two ways"
        place, results = topmost_results(fields, server.lower())
        _check_place(fields[:place], server.lower())
        _check_chosen(fields, fields[:place])
        is_proven = _is_proven(results, sender.lower().rpartition("@")[2])
    except UnclearHeader as err:
        return str(err)
    return "" if is_proven else f"{server} does not vouch for its From"


def _author(fields: Sequence[HeaderField]) -> str:
    every = [field.value for field in fields if field.name == "from"]
    found = _AUTHOR.fullmatch(every[0]) if len(every) == 1 else None
    if found is None:
        raise UnclearHeader("its From is not one plain address")
    return (found["named"] or found["bare"]).lower()


def topmost_results(fields: Sequence[HeaderField], server: str) -> tuple[int, AuthResults]:
    """Return the place of the server's own results, and them; lower ones may come from anybody.

    Raises:
        UnclearHeader: there are none, or nobody can tell.
    """
    for place, field in enumerate(fields):
        if field.name == RESULTS:
            results = parse_auth_results(field.value)
            if results.server == server:
                return place, results
    raise UnclearHeader(f"{server} has written no Authentication-Results on it")


def _check_place(above: Sequence[HeaderField], server: str) -> None:
    """Refuse results below the server's own Received: they came with the letter."""
    if server in BELOW_THEIR_RECEIVED:
        return
    for field in above:
        found = RECEIVED.search(field.value) if field.name == "received" else None
        # Filters on the same machine hand letters back to it
        if found and found[2].lower() == server and found[1] not in THIS_MACHINE:
            raise UnclearHeader(f"its Authentication-Results are older than {server}")


def _check_chosen(fields: Sequence[HeaderField], above: Sequence[HeaderField]) -> None:
    """Refuse odd texts of the sender that servers copy into their results."""
    envelope = next((field.value for field in above if field.name == "return-path"), None)
    if envelope is None:
        raise UnclearHeader("no Return-Path stands above its Authentication-Results")
    if _ENVELOPE.fullmatch(envelope) is None:
        raise UnclearHeader("the address that it was sent from is not plain")
    for field in fields:
        if field.name == "dkim-signature" and not _is_plain(field.value):
            raise UnclearHeader("its DKIM-Signature is not plain")


def _is_plain(signature: str) -> bool:
    seen = set()
    for name, value in signature_tags(signature):
        if name in seen or (name in _TAGS and _TAGS[name].fullmatch(value) is None):
            return False
        seen.add(name or value)
    return True


def signature_tags(signature: str) -> Iterator[tuple[str, str]]:
    """Yield the tags of a `DKIM-Signature`, names in lower case, without any space."""
    for tag in signature.split(";"):
        name, _, value = ("".join(part.split()) for part in tag.partition("="))
        yield name.lower(), value


def _is_proven(results: AuthResults, domain: str) -> bool:
    dmarc = [one for one in results.results if one.method == "dmarc"]
    sent = [one for one in results.results if PROPERTIES["spf"] in one.properties]
    if len(dmarc) > 1 or len([one for one in sent if one.method == "spf"]) > 1:
        raise UnclearHeader("its Authentication-Results say something twice")
    if dmarc and domain_of(dmarc[0], "header.from") != domain:
        return False
    if dmarc and dmarc[0].result != "none":
        return dmarc[0].result == "pass"
    return any(
        one.result == "pass" and domain_of(one, PROPERTIES[one.method]) == domain
        for one in results.results
        if one.method in PROPERTIES
    )


def domain_of(result: AuthMethodResult, name: str) -> str:
    """Return the domain in a property of a check; empty without one."""
    return result.properties.get(name, "").rpartition("@")[2].lower().removesuffix(".")
