"""Who a letter is from, as far as the server that received it vouches for that.

Anybody can write any name into From. What counts is the result that the receiving server put above
everything else, and takes out of what comes from elsewhere (RFC 8601): DMARC that passed, or a
signature or an envelope of the same domain.
"""

import re
from collections.abc import Sequence
from email.message import EmailMessage

NAME = "authentication-results"
MAX_HEADERS = 20
MAX_HEADER_CHARS = 4000
# A comment has no comments in it that matter here
_COMMENT = re.compile(r"\([^()]*\)")
_RESULT = re.compile(r"(dmarc|dkim|spf)\s*=\s*(\w+)", re.IGNORECASE)
_OF_DOMAIN = {
    "dmarc": re.compile(r"header\.from\s*=\s*\"?([^\s;\"]+)", re.IGNORECASE),
    "dkim": re.compile(r"header\.d\s*=\s*\"?([^\s;\"]+)", re.IGNORECASE),
    "spf": re.compile(r"smtp\.mailfrom\s*=\s*\"?(?:[^\s;@\"]*@)?([^\s;\"]+)", re.IGNORECASE),
}


def is_vouched_for(letter: EmailMessage, domain: str, server: str) -> bool:
    """Whether `server` says that the letter is from `domain`, the one in From.

    Args:
        server: its name in what it writes, `authserv-id`; empty is nobody.
    """
    if not server or not domain:
        return False
    for raw in _headers(letter):
        name, _, results = raw.partition(";")
        if name.strip().partition(" ")[0].lower() == server.lower():
            # The topmost is the last server's; others below may be anybody's
            return any(_proves(one, domain.lower()) for one in results.split(";"))
    return False


def _headers(letter: EmailMessage) -> Sequence[str]:
    found = letter.get_all(NAME, [])[:MAX_HEADERS]
    return [_COMMENT.sub(" ", " ".join(str(one).split())[:MAX_HEADER_CHARS]) for one in found]


def _proves(result: str, domain: str) -> bool:
    found = _RESULT.match(result.strip())
    if found is None or found[2].lower() != "pass":
        return False
    named = _OF_DOMAIN[found[1].lower()].search(result)
    return named is not None and _is_same(named[1].lower().rstrip("."), domain)


def _is_same(proven: str, claimed: str) -> bool:
    """A domain vouches for itself and for what is beneath it; one label is nobody's."""
    return "." in proven and (proven == claimed or claimed.endswith(f".{proven}"))
