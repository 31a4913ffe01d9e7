"""Letters of a stranger who wants to be taken for the owner, each in another way.

The stranger has a domain with SPF, a DKIM key and a DMARC policy, as everybody can.
"""

from collections.abc import Iterator
from dataclasses import dataclass

OWNER = "anna@owner.example"
_STRANGER = "x@evil.example"
_DMARC = "dmarc=pass header.from=owner.example"
_SERVER = "mx.example.org"


@dataclass(frozen=True, slots=True)
class Forgery:
    """One letter.

    Args:
        author: the line or lines of From.
        above: header lines that stand over it, without a line end.
        identity: the tag `i` of the stranger's signature; None for no signature.
        signs_as: another domain that the stranger claims to sign for, with the own key.
        date: of a letter of long ago, which nobody signs by himself.
    """

    name: str
    envelope: str = _STRANGER
    author: str = f"From: Anna <{OWNER}>"
    above: str = ""
    below: str = ""
    identity: str | None = None
    signs_as: str = ""
    to: str = "agent@example.org"
    date: str = "Mon, 02 Mar 2026 10:00:00 +0000"

    def text(self) -> bytes:
        lines = [
            *([self.above] if self.above else []),
            self.author,
            f"To: {self.to}",
            "Subject: ",
            f"Date: {self.date}",
            f"Message-ID: <{self.name}@evil.example>",
            *([self.below] if self.below else []),
            "",
            self.name,
            "",
        ]
        return "\r\n".join(lines).encode("utf-8", "surrogateescape")


def forgeries() -> Iterator[Forgery]:
    """Return every form."""
    for name, envelope in _ENVELOPES.items():
        yield Forgery(f"envelope-{name}", envelope=envelope)
    for name, above in _ABOVE.items():
        yield Forgery(f"above-{name}", above=above)
        yield Forgery(f"above-{name}-signed", above=above, identity="")
    for name, above in _ABOVE.items():
        if not name.startswith("bare"):
            yield Forgery(f"below-{name}", below=above)
    for name, author in _AUTHORS.items():
        yield Forgery(f"author-{name}", author=author)
        # What is not From first cannot be signed here
        if author.lower().startswith("from:"):
            yield Forgery(f"author-{name}-signed", author=author, identity="")
    for name, identity in _IDENTITIES.items():
        yield Forgery(f"identity-{name}", identity=identity)
    yield Forgery("foreign-signature", identity="", signs_as="owner.example")


_ENVELOPES = {
    "comment-ends": f'"a) ; {_DMARC} ("@evil.example',
    "semicolon": f'"a; {_DMARC}; x=y"@evil.example',
    "semicolon-only": f'"a;{_DMARC}"@evil.example',
    "mailfrom": '"a) smtp.mailfrom=owner.example ("@evil.example',
    "spf": '"a) ; spf=pass smtp.mailfrom=owner.example ("@evil.example',
    "dkim": '"a) ; dkim=pass header.d=owner.example ("@evil.example',
    "escaped-quote": f'"a\\"b) ; {_DMARC} ("@evil.example',
    "backslash": f'"a\\\\) ; {_DMARC} ("@evil.example',
    "nested-comment": f'"((a))) ; {_DMARC} ("@evil.example',
    "tabs": '"a)\t;\tdmarc=pass\theader.from=owner.example\t("@evil.example',
    "capitals": '"a) ; DMARC=PASS HEADER.FROM=OWNER.EXAMPLE ("@evil.example',
    "version": '"a) ; dmarc/1=pass header.from=owner.example ("@evil.example',
    "reason": '"a) ; dmarc=pass reason=ok header.from=owner.example ("@evil.example',
    "quoted-reason": f'"a) reason=\\"x\\" ; {_DMARC} ("@evil.example',
    "long": f'"a{" " * 300}) ; {_DMARC} ("@evil.example',
    "encoded-word": "=?utf-8?q?a=29=3B_dmarc=3Dpass_header.from=3Downer.example_=28?=@evil.example",
    "equals": "dmarc=pass=header.from=owner.example@evil.example",
    "address-in-quotes": f'"{OWNER}"@evil.example',
    "two-ats": f"{OWNER}@evil.example",
    "percent": "anna%owner.example@evil.example",
    "route": f"@owner.example:{_STRANGER}",
    "nobody": "",
}
_FORGED = f"Authentication-Results: {_SERVER}; {_DMARC}"
_ABOVE = {
    "results": _FORGED,
    "results-twice": f"{_FORGED}\r\n{_FORGED}",
    "results-many": "\r\n".join([_FORGED] * 30),
    "results-quoted-server": f'Authentication-Results: "{_SERVER}"; {_DMARC}',
    "results-folded": f"Authentication-Results:\r\n {_SERVER};\r\n\t{_DMARC}",
    "results-capitals": _FORGED.upper(),
    "results-spaced-name": f"Authentication-Results : {_SERVER}; {_DMARC}",
    "results-version": f"Authentication-Results: {_SERVER} 1; {_DMARC}",
    "results-commented": f"Authentication-Results: (a) {_SERVER} (b); (c) {_DMARC}",
    "results-long": f"Authentication-Results: {_SERVER}; {_DMARC} (" + "a" * 3000 + ")",
    "results-encoded": f"Authentication-Results: =?utf-8?q?{_SERVER}=3B?= {_DMARC}",
    "results-of-another": f"Authentication-Results: evil.example; {_DMARC}",
    "results-of-longer-name": f"Authentication-Results: {_SERVER}.evil.example; {_DMARC}",
    "arc-results": f"ARC-Authentication-Results: i=1; {_SERVER}; {_DMARC}",
    "trace": (
        f"Return-Path: <{OWNER}>\r\n{_FORGED}\r\n"
        f"Received: from owner.example (owner.example [192.0.2.1])\r\n\tby {_SERVER} (Postfix)"
    ),
    "bare-carriage-return": f"X-Note: a\r{_FORGED}",
    "bare-line-feed": f"X-Note: a\n{_FORGED}",
    "received-spf": f"Received-SPF: Pass (mailfrom) envelope-from={OWNER}",
}
_AUTHORS = {
    "two-lines": f"From: {_STRANGER}\r\nFrom: {OWNER}",
    "two-lines-turned": f"From: {OWNER}\r\nFrom: {_STRANGER}",
    "two-addresses": f"From: {_STRANGER}, {OWNER}",
    "two-addresses-turned": f"From: {OWNER}, {_STRANGER}",
    "group": f"From: friends: {OWNER}, {_STRANGER};",
    "name-is-address": f"From: {OWNER} <{_STRANGER}>",
    "name-is-quoted-address": f'From: "{OWNER}" <{_STRANGER}>',
    "name-is-encoded": (
        f"From: =?utf-8?q?anna=40owner=2Eexample_=3Canna=40owner=2Eexample=3E?= <{_STRANGER}>"
    ),
    "two-brackets": f"From: <{_STRANGER}> <{OWNER}>",
    "two-brackets-turned": f"From: <{OWNER}> <{_STRANGER}>",
    "comment": f"From: {_STRANGER} (<{OWNER}>)",
    "comment-before": f"From: ({_STRANGER}) {OWNER}",
    "comment-within": "From: anna@owner.example(@evil.example)",
    "encoded-domain": "From: <anna@=?utf-8?q?owner.example?=>",
    "encoded-address": f"From: =?utf-8?q?anna=40owner.example?= , {_STRANGER}",
    "quoted-local": 'From: "anna@owner.example> "@evil.example',
    "quoted-ends": f'From: "a\\" <{OWNER}>" <{_STRANGER}>',
    "route": f"From: <@evil.example:{OWNER}>",
    "spaced-name": f"From : {_STRANGER}\r\nFrom: {OWNER}",
    "capitals": f"FROM: {_STRANGER}\r\nfrom: {OWNER}",
    "carriage-return": f"From: {_STRANGER}\rFrom: {OWNER}",
    "carriage-return-turned": f"X-Note: a\rFrom: {OWNER}\r\nFrom: {_STRANGER}",
    "folded": f"From: {_STRANGER}\r\n <{OWNER}>",
    "blank-fold": f"From: {_STRANGER}\r\n \r\nFrom: {OWNER}",
    "domain-dot": "From: anna@owner.example.",
    "shouting": "From: ANNA@OWNER.EXAMPLE",
    "null-byte": "From: anna@owner.example\0@evil.example",
    "sender": f"From: {_STRANGER}\r\nSender: {OWNER}",
    "full-width-at": f"From: anna＠owner.example <{_STRANGER}>",
    "full-width-dot": f"From: anna@owner．example, {_STRANGER}",
}
_IDENTITIES = {
    "dmarc": "a=3B=20dmarc=3Dpass=20header.from=3Downer.example=3B=20x=3Dy@evil.example",
    "dkim": "a=3B=20dkim=3Dpass=20header.d=3Downer.example=3B=20x=3Dy@evil.example",
    "spf": "a=3B=20spf=3Dpass=20smtp.mailfrom=3Downer.example=3B=20x=3Dy@evil.example",
    "header-d": "a=20header.d=3Downer.example=20x=3D@evil.example",
    "comment": "a=3B=20dmarc=3Dpass=20header.from=3Downer.example=20=28@evil.example",
    "lines": (
        f"a=0D=0AAuthentication-Results:=20{_SERVER}=3B=20dmarc=3Dpass=20"
        "header.from=3Downer.example=3B=20x=3Dy@evil.example"
    ),
    "quoted": f'"a; {_DMARC}; x=y"@evil.example',
    "lower-case-hex": "a=3b=20dmarc=3dpass=20header.from=3downer.example=3b=20x=3dy@evil.example",
    "folded": (
        "a=3B\r\n =20dmarc=3Dpass\r\n =20header.from=3Downer.example=3B=20x=3Dy@evil.example"
    ),
    "owner": OWNER,
}
