import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.channels.email.inbound import read_letter
from agent.channels.email.parser import parsed
from agent.channels.email.verification import why_unverified
from tests.fakes.forged_letters import OWNER, Forgery, forgeries

SERVER = "mx.example.org"
_STRANGER = "x@evil.example"
_PASS = "dmarc=pass header.from=owner.example"
_RECEIVED = f"Received: from a.example (unknown [192.0.2.1])\r\n\tby {SERVER} (Postfix)"


def letter(
    *results: str, author: str = f"From: Anna <{OWNER}>", envelope: str = OWNER, more: str = ""
) -> bytes:
    """Return a letter as it lies in a mailbox, with what its server has put on it."""
    lines = [
        f"Return-Path: <{envelope}>",
        *(f"Authentication-Results: {one}" for one in results),
        _RECEIVED,
        *([more] if more else []),
        author,
        "",
        "Lamp on.",
    ]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape")


def why(raw: bytes, server: str = SERVER) -> str:
    return why_unverified(raw, OWNER, server)


@pytest.mark.parametrize(
    "result",
    [
        "mx.example.org; dmarc=pass (p=NONE) header.from=owner.example",
        "mx.example.org 1; spf=pass smtp.mailfrom=anna@owner.example",
        "mx.example.org; spf=pass smtp.mailfrom=owner.example",
        "mx.example.org; spf=fail smtp.mailfrom=x@evil.org; dkim=pass header.d=owner.example",
        'MX.example.org; dkim=pass (2048-bit key) header.i=@owner.example header.d="owner.example"',
        "mx.example.org; dkim=pass header.d=other.org; dkim=pass header.d=Owner.Example.",
        "mx.example.org; dkim=pass header.d=owner.example; dmarc=none header.from=owner.example",
        "mx.example.org; spf=pass smtp.helo=a.org; spf=pass smtp.mailfrom=anna@owner.example",
    ],
)
def test_what_the_receiving_server_proves_counts(result: str) -> None:
    assert why(letter(result)) == ""


@pytest.mark.parametrize(
    "result",
    [
        "",
        "mx.example.org",
        "mx.example.org; none",
        "mx.example.org; dmarc=fail header.from=owner.example",
        "mx.example.org; dmarc=pass",
        "mx.example.org; dmarc=pass header.from=evil.org",
        "mx.example.org; dmarc=none header.from=evil.org; dkim=pass header.d=owner.example",
        "mx.example.org; dmarc=none; dkim=pass header.d=owner.example",
        "mx.example.org; dmarc=fail header.from=owner.example; dkim=pass header.d=owner.example",
        f"mx.example.org; dmarc=fail header.from=owner.example; {_PASS}",
        "mx.example.org; spf=pass smtp.mailfrom=evil.org; spf=pass smtp.mailfrom=owner.example",
        "mx.example.org; dkim=pass header.d=evil.org; spf=pass smtp.mailfrom=evil.org",
        "mx.example.org; dkim=pass header.d=mail.owner.example",
        "mx.example.org; dkim=pass header.d=example",
        "mx.example.org; dkim=fail header.d=owner.example",
        "mx.example.org; dkim=pass header.i=@owner.example",
        "mx.example.org; x-dmarc=pass header.from=owner.example",
        "mx.example.org; (dmarc=pass header.from=owner.example) dmarc=fail",
        "mx.example.org.evil.org; dmarc=pass header.from=owner.example",
        "evil.org; dmarc=pass header.from=owner.example",
        "=?utf-8?q?mx.example.org=3B?= dmarc=pass header.from=owner.example",
    ],
)
def test_anything_else_does_not(result: str) -> None:
    assert why(letter(result))


def test_the_domain_in_from_is_exactly_the_proven_one() -> None:
    told = letter("mx.example.org; dkim=pass header.d=example")
    assert why(told)
    below = letter(f"{SERVER}; dkim=pass header.d=owner.example", author="From: a@x.owner.example")
    assert why_unverified(below, "a@x.owner.example", SERVER)


def test_only_the_topmost_result_of_the_server_counts() -> None:
    """What stands below it came with the letter, and can say anything."""
    forged = "mx.example.org; dmarc=pass header.from=owner.example"
    real = "mx.example.org; dmarc=fail header.from=owner.example"
    assert why(letter(real, forged))
    assert why(letter("other.net; dmarc=fail", forged)) == ""
    assert why(letter("other.net dmarc=fail", forged)), "nobody knows whose the first is"


def test_without_a_server_that_vouches_nothing_is_true() -> None:
    told = letter("mx.example.org; dmarc=pass header.from=owner.example")
    assert why(told, "") == "no server is configured (authserv_id)"
    assert "mx.other.org has written no" in why(told, "mx.other.org")


_GOOD = "mx.example.org; dmarc=pass header.from=owner.example"


def test_results_that_came_with_the_letter_do_not_count() -> None:
    forged = letter(author=f"Authentication-Results: {_GOOD}\r\nFrom: {OWNER}")
    assert why(forged) == "its Authentication-Results are older than mx.example.org"
    # Filters on the same machine hand it back, and mailboxes are filled by LMTP
    for again in ("(localhost [127.0.0.1])", "(localhost [IPv6:::1])", ""):
        hop = f"Received: from a.example {again}\r\n\tby {SERVER} (Postfix)\r\n".encode()
        assert why(hop + letter(_GOOD)) == ""
    assert why(b"Received: from mx (mx [192.0.2.9]) by store.example.org\r\n" + letter(_GOOD)) == ""


def test_gmail_writes_its_results_below_its_own_received() -> None:
    told = letter(
        more="Authentication-Results: mx.google.com; dmarc=pass header.from=owner.example"
    )
    told = told.replace(SERVER.encode(), b"mx.google.com")
    assert why(told, "mx.google.com") == ""


def test_a_letter_whose_envelope_is_not_known_or_not_plain_is_unverified() -> None:
    told = letter(_GOOD)
    assert "no Return-Path" in why(told.partition(b"\r\n")[2])
    assert "no Return-Path" in why(told.partition(b"\r\n")[2] + b"\r\nReturn-Path: <a@b.example>")
    assert why(letter(_GOOD, envelope="")) == ""
    assert why(letter(_GOOD, envelope="SRS0=ab=cd=evil.example=x@owner.example")) == ""
    assert "not plain" in why(letter(_GOOD, envelope='"a b"@evil.example'))


@pytest.mark.parametrize(
    "signature",
    [
        "d=evil.example; s=a; i=a=3Bb@evil.example; b=c=",
        "d=evil.example; s=a b c;d; b=c",
        'd=evil.example; s=a; i="a b"@evil.example',
        "d=evil.example; d=owner.example; s=a",
        "d=evil; s=a",
        "D=evil; s=a",
    ],
)
def test_a_signature_that_is_not_plain_leaves_it_unverified(signature: str) -> None:
    assert "DKIM-Signature" in why(letter(_GOOD, more=f"DKIM-Signature: v=1; {signature}"))


def test_plain_signatures_are_no_trouble() -> None:
    plain = (
        "v=1; a=rsa-sha256; d=owner.example;\r\n\ts=s_1; i=@owner.example; h=from:to; b=ab+=\r\n ="
    )
    assert why(letter(_GOOD, more=f"DKIM-Signature: {plain};")) == ""


_HONEST_AUTHORS = [
    OWNER,
    f"<{OWNER}>",
    f"Anna Ko. <{OWNER}>",
    f'"Ko, Anna \\"A\\" (x)" <{OWNER}>',
    f"=?utf-8?q?J=C3=BCrgen?= =?utf-8?b?SsO8?= <{OWNER}>",
    f"Anna\r\n <{OWNER.upper()}>",
]


@pytest.mark.parametrize("author", _HONEST_AUTHORS)
def test_an_author_with_a_name_is_known(author: str) -> None:
    raw = letter(_GOOD, author=f"From: {author}")
    assert why_unverified(raw, read_letter(parsed(raw)).sender, SERVER) == ""


def _is_taken_for_the_owner(raw: bytes) -> bool:
    sender = read_letter(parsed(raw)).sender
    return sender == OWNER and not why_unverified(raw, sender, SERVER)


# What servers write of a stranger's letter; {} is the address in its envelope
_WRITERS = {
    "policyd-spf": "mx.example.org; spf=pass (sender SPF authorized) smtp.mailfrom=evil.example "
    "(client-ip=192.0.2.1; helo=a; envelope-from={}; receiver=example.org)",
    "as it is": "mx.example.org; spf=pass smtp.mailfrom={}",
    "in a comment": "mx.example.org; spf=pass (mx: domain of {} designates 192.0.2.1 as permitted "
    "sender) smtp.mailfrom=evil.example",
    "quoted": 'mx.example.org; spf=pass smtp.mailfrom="{}"',
    "opendkim": "mx.example.org;\tdkim=pass (1024-bit key; unprotected) header.d=evil.example "
    "header.i={} header.a=rsa-sha256 header.s=s1 header.b=ab;\tdkim-atps=neutral",
    "opendmarc": "mx.example.org; dmarc=pass (p=none dis=none) header.from=evil.example",
}


def _unquoted(envelope: str) -> str:
    local, _, domain = envelope.rpartition("@")
    return f"{local.strip(chr(34))}@{domain}"


@pytest.mark.parametrize("writer", _WRITERS)
def test_no_forged_letter_is_taken_for_the_owners(writer: str) -> None:
    forms = [
        (one, chosen) for one in forgeries() for chosen in (one.envelope, _unquoted(one.envelope))
    ]
    taken = [
        one.name for one, chosen in forms if _is_taken_for_the_owner(_come(one, writer, chosen))
    ]
    assert taken == []
    assert len(forms) >= 80


def _come(forgery: Forgery, writer: str, chosen: str) -> bytes:
    """Return the letter as it lies in a mailbox; `chosen` is what its server copied."""
    results = _WRITERS[writer].format(chosen or "<>")
    head = f"Return-Path: <{forgery.envelope}>\r\nAuthentication-Results: {results}\r\n"
    return f"{head}{_RECEIVED}\r\n".encode() + forgery.text()


_PIECES = st.sampled_from(
    [
        *(
            "a",
            " ",
            "\t",
            ";",
            "(",
            ")",
            '"',
            "\\",
            "=",
            "@",
            ".",
            "<",
            ">",
            ",",
            ":",
            "/1",
            "pass",
        ),
        *("dmarc=pass", "header.from=owner.example", "spf=pass", "smtp.mailfrom=owner.example"),
        *(
            "dkim=pass",
            "header.d=owner.example",
            "; x=y",
            "mx.example.org",
            "reason=",
            "=3B",
            "=20",
        ),
        *("=?utf-8?q?=3B?=", "anna@owner.example", "\xe9", "(p=none dis=none)", "policy.p=none"),
    ]
)
_LOCALS = st.lists(_PIECES, max_size=12).map("".join)


def _quoted(local: str) -> str:
    escaped = local.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@given(_LOCALS, st.sampled_from(sorted(_WRITERS)), st.sampled_from(["kept", "lost"]))
@example("a) ; dmarc=pass header.from=owner.example (", "policyd-spf", "lost")
@example("a; dmarc=pass header.from=owner.example; x=y", "as it is", "lost")
@example("dmarc=pass", "policyd-spf", "kept")
def test_no_address_of_an_envelope_makes_its_letter_the_owners(
    local: str, writer: str, quotes: str
) -> None:
    """A server shows an address plain where it is plain, and may lose quotes where it is not."""
    is_plain = bool(local) and all(
        atom
        and atom.isascii()
        and all(char.isalnum() or char in "!#$%&'*+-/=?^_`{|}~" for char in atom)
        for atom in local.split(".")
    )
    envelope = f"{local if is_plain else _quoted(local)}@evil.example"
    copied = envelope if quotes == "kept" else f"{local}@evil.example"
    assert not _is_taken_for_the_owner(letter(_WRITERS[writer].format(copied), envelope=envelope))


@given(_LOCALS)
@example("a; dmarc=pass header.from=owner.example; x=y")
def test_no_identity_of_a_signature_makes_its_letter_the_owners(local: str) -> None:
    spelled = "".join(
        char if char.isalnum() and char.isascii() else f"={byte:02X}"
        for char in local
        for byte in char.encode()[:1]
    )
    signature = f"DKIM-Signature: v=1; d=evil.example; s=s1; i={spelled}@evil.example; b=ab"
    results = _WRITERS["opendkim"].format(f"{local}@evil.example")
    assert not _is_taken_for_the_owner(letter(results, envelope=_STRANGER, more=signature))


@given(st.lists(_PIECES, max_size=8).map("".join))
def test_no_author_with_two_addresses_is_the_owner(chosen: str) -> None:
    told = "mx.example.org; dmarc=pass header.from=evil.example"
    raw = letter(told, author=f"From: {chosen}<{_STRANGER}>", envelope=_STRANGER)
    assert not _is_taken_for_the_owner(raw)
