from email.utils import formatdate

import pytest

from agent.channels.email.replays import MAX_APART_S, EmailReceiver, why_replayed
from agent.channels.email.verification import why_unverified

SERVER = "mx.example.org"
AGENT = "pi@example.org"
OWNER = "anna@mail.owner.example"
NOW_S = 1_780_000_000
RECEIVER = EmailReceiver(SERVER, (AGENT, "Home@owner.example"))
_DMARC = f"{SERVER}; dmarc=pass header.from=mail.owner.example"
_SPF = f"{SERVER}; spf=pass smtp.mailfrom=mail.owner.example"
_OTHER_SPF = f"{SERVER}; spf=pass smtp.mailfrom=evil.example"
_COVERED = "from:To:Cc:subject:date:message-id"


def signature(covered: str = _COVERED, domain: str = "owner.example", more: str = "") -> str:
    return f"DKIM-Signature: v=1; d={domain}; s=s1;{more}\r\n\th={covered}; bh=ab; b=ab+="


def letter(
    *fields: str, to: str = f"To: {AGENT}", results: tuple[str, ...] = (_DMARC,), hops: str = ""
) -> bytes:
    """Return a letter as it lies in the mailbox."""
    lines = [
        "Return-Path: <x@evil.example>",
        *(f"Authentication-Results: {one}" for one in results),
        *([hops] if hops else []),
        f"Received: from a.example (unknown [192.0.2.1])\r\n\tby {SERVER} (Postfix)",
        *fields,
        f"From: Anna <{OWNER}>",
        *([to] if to else []),
        "Subject: lamp",
        f"Date: {formatdate(NOW_S)}",
        "Message-ID: <1@owner.example>",
        "",
        "Lamp on.",
    ]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape")


def why(raw: bytes, came_at_s: float = NOW_S) -> str:
    assert why_unverified(raw, OWNER, SERVER) == ""
    return why_replayed(raw, OWNER, RECEIVER, came_at_s)


@pytest.mark.parametrize(
    "to",
    [
        f"To: {AGENT.upper()}",
        "To: pi+lamps@example.org",
        "To: home@Owner.example",
        f'To: "Eve, x" <x@evil.example>,\r\n\t"Pi (home)" <{AGENT}>',
        f"To: =?utf-8?q?J=C3=BCrgen=2C?= <x@evil.example>, Pi (the \\) one) <{AGENT}>",
        f"To: house: x@evil.example, {AGENT};",
        f"To: x@evil.example\r\nCc: J\xfcrgen <{AGENT}>",
    ],
)
def test_a_letter_to_the_agent_is_its_own(to: str) -> None:
    assert why(letter(signature(), to=to)) == ""


@pytest.mark.parametrize(
    "to",
    [
        "",
        "To: x@evil.example",
        "Bcc: pi@example.org",
        "X-To: pi@example.org",
        "To: undisclosed-recipients:;",
        f'To: "{AGENT}" <x@evil.example>',
        f'To: "a\\" <{AGENT}>, " <x@evil.example>',
        f"To: x@evil.example ({AGENT})",
        f'To: ({AGENT}, ( " ) {AGENT} ) x@evil.example',
        f"To: =?utf-8?q?a,{AGENT},?= <x@evil.example>",
        f"To: {AGENT} <x@evil.example>",
        f"To: <{AGENT}> <x@evil.example>",
        f"To: {AGENT}.evil.example",
        "To: pi@owner.example",
    ],
)
def test_a_letter_to_somebody_else_is_not(to: str) -> None:
    for results in ((_DMARC,), (_SPF,)):
        assert "channels.email.aliases" in why(letter(signature(), to=to, results=results))


def test_whatever_was_added_around_a_signature_does_not_count() -> None:
    theirs = "To: x@evil.example"
    assert "does not cover the To or Cc" in why(letter(signature(), f"To: {AGENT}", to=theirs))
    uncovered = signature(_COVERED.replace("Cc:", ""))
    assert "does not cover the To or Cc" in why(letter(uncovered, f"Cc: {AGENT}", to=theirs))
    assert "its subject" in why(letter(signature(), "Subject: /estop"))
    assert "its subject" in why(letter(signature("from:to:date:message-id")))
    assert "its message-id" in why(letter(signature("from:to:date:subject")))
    assert "a part of its text" in why(letter(signature(more=" l=12;")))


def test_every_signature_that_may_be_the_one_that_vouches_has_to_cover_it() -> None:
    bare = signature("from", "b.owner.example")
    assert why(letter(signature(), signature("from", "sender.example"))) == ""
    assert why(letter(signature(), bare))
    assert why(letter(bare, signature()))


def test_what_the_servers_of_the_domain_brought_needs_no_signature() -> None:
    assert why(letter(signature("from"), results=(_SPF,))) == ""
    assert why(letter(signature("from"), results=(_DMARC, _SPF))) == ""
    assert why(letter(results=(_DMARC,))) == ""
    related = f"{SERVER}; spf=pass smtp.mailfrom=bounce.owner.example"
    assert why(letter(results=(_DMARC, related))) == ""
    assert "not there any more" in why(letter(results=(_DMARC, _OTHER_SPF)))
    assert "does not cover" in why(letter(signature("from"), results=(_DMARC, _OTHER_SPF)))
    signed = f"{SERVER}; dkim=pass header.d=mail.owner.example"
    assert "not there any more" in why(letter(results=(signed,)))


def test_results_that_came_with_the_letter_prove_no_server() -> None:
    forged = f"Authentication-Results: {_SPF}"
    bare = signature("from")
    assert why(letter(bare, forged))
    local = f"Received: from x (localhost [127.0.0.1]) by {SERVER}"
    assert why(letter(bare, f"{local}\r\n{forged}")), "a hop of ours stands above the other one"
    assert why(letter(bare, results=(_DMARC, "other.net; spf=pass smtp.mailfrom=owner.example")))
    assert why(letter(bare, results=(_DMARC, f"{SERVER} spf=pass (odd")))
    assert why(letter(bare, hops=f"{local}\r\n{forged}")) == ""


def test_gmail_says_all_in_one_place() -> None:
    own = "mx.google.com"
    results = f"Authentication-Results: {own}; dmarc=pass header.from=mail.owner.example"
    forged = f"Authentication-Results: {own}; spf=pass smtp.mailfrom=mail.owner.example"
    raw = letter(results, forged, signature("from"), results=()).replace(
        SERVER.encode(), own.encode()
    )
    assert why_unverified(raw, OWNER, own) == ""
    assert why_replayed(raw, OWNER, EmailReceiver(own, (AGENT,)), NOW_S)


def test_a_letter_of_another_day_is_handed_in_again() -> None:
    for apart_s in (-MAX_APART_S, 0, MAX_APART_S):
        assert why(letter(signature()), NOW_S + apart_s) == ""
    for apart_s in (-MAX_APART_S - 1, MAX_APART_S + 1):
        assert "more than a day" in why(letter(signature()), NOW_S + apart_s)
        stamped = signature(more=f" t={NOW_S + int(apart_s)};")
        assert "more than a day" in why(letter(stamped))
        assert why(letter(stamped), NOW_S + apart_s) == ""
    assert "when it was written" in why(letter(signature("from:to:subject:message-id")))
    assert "when it was written" in why(letter(signature(), f"Date: {formatdate(NOW_S)}"))
    odd = letter(signature()).replace(b"Date: ", b"Date: soon; ")
    assert why(odd) == "its Date is no time"
