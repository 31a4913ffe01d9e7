"""Debian's Postfix with policyd-spf, OpenDKIM and OpenDMARC in front of a mailbox, on loopback.

Three ways in, as servers are set up: `all` has the three, `spf` and `dkim` have one each. What they
ask the network for is in a zone of their own, through a mount namespace with its own resolv.conf.
"""

import base64
import contextlib
import hashlib
import os
import re
import smtplib
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.fakes import mail_server
from tests.fakes.irc_server import free_port
from tests.fakes.zone_server import ZoneServer
from tests.waits import wait_until_sync

AUTHSERV_ID = "mx.example.org"
# Sends from this machine by SPF, signs, and has a DMARC policy
OWNER_DOMAIN = "owner.example"
# Has SPF and keys, too: every stranger can
STRANGER_DOMAIN = "evil.example"
SELECTOR = "s1"
# What every large provider signs
COVERED = ("from", "to", "subject", "date", "message-id")
# No server takes it for a part of itself
_STRANGERS_ADDRESS = "127.0.0.7"
WAYS_IN = ("all", "spf", "dkim")
_PROGRAMS = {
    "policyd-spf": "/usr/bin/policyd-spf",
    "opendkim": "/usr/sbin/opendkim",
    "opendmarc": "/usr/sbin/opendmarc",
}
_SERVICES = f"""\
{{all}} inet n - n - - smtpd
{{spf}} inet n - n - - smtpd
  -o smtpd_milters=
{{dkim}} inet n - n - - smtpd
  -o smtpd_recipient_restrictions=permit
  -o smtpd_milters=inet:127.0.0.1:{{opendkim}}
policyd unix - n n - 0 spawn
  user=nobody argv=/usr/bin/policyd-spf {{folder}}/etc/policyd-spf.conf
{mail_server.INNER_SERVICES}"""
_MAIN = f"""\
{mail_server.POSTFIX_BASE}\
smtpd_recipient_restrictions = check_policy_service unix:private/policyd
smtpd_milters = inet:127.0.0.1:{{opendkim}}, inet:127.0.0.1:{{opendmarc}}
milter_default_action = tempfail
strict_rfc821_envelopes = no
"""
_POLICYD = f"""\
debugLevel = 1
TestOnly = 0
HELO_reject = False
Mail_From_reject = False
Header_Type = AR
Authserv_Id = {AUTHSERV_ID}
skip_addresses = 192.0.2.1/32
"""
_OPENDKIM = f"""\
Mode v
Socket inet:{{opendkim}}@127.0.0.1
AuthservID {AUTHSERV_ID}
Nameservers {{dns}}
InternalHosts 192.0.2.1
On-BadSignature accept
UserID nobody
PidFile {{folder}}/opendkim.pid
"""
_OPENDMARC = f"""\
Socket inet:{{opendmarc}}@127.0.0.1
AuthservID {AUTHSERV_ID}
TrustedAuthservIDs {AUTHSERV_ID}
IgnoreHosts {{folder}}/no-hosts
UserID nobody
PidFile {{folder}}/opendmarc.pid
"""


def why_not() -> str:
    """Return what this machine lacks, or an empty text."""
    missing = [name for name, path in _PROGRAMS.items() if not Path(path).exists()]
    if missing:
        return f"Debian's {', '.join(missing)} are not installed"
    if os.geteuid() != 0:
        return "mail servers give each of their programs a user: needs root"
    probe = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return "" if probe.returncode == 0 else "this machine gives no mount namespace"


@dataclass(frozen=True, slots=True)
class Signer:
    """A domain's DKIM key."""

    domain: str
    key: rsa.RSAPrivateKey = field(
        default_factory=lambda: rsa.generate_private_key(public_exponent=65537, key_size=1024)
    )

    @property
    def record(self) -> str:
        public = self.key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return f"v=DKIM1; k=rsa; p={base64.b64encode(public).decode()}"

    def signed(
        self,
        letter: bytes,
        identity: str = "",
        domain: str = "",
        *,
        covers: Sequence[str] = COVERED,
        tags: str = "",
    ) -> bytes:
        """Return the letter under a signature (simple/simple) of the last of each field.

        Args:
            identity: the tag `i`, which a signer chooses freely before its domain.
            domain: another one to sign for, with this key.
            covers: the fields that it signs, in lower case.
            tags: others, each with its semicolon.
        """
        head, _, body = letter.partition(b"\r\n\r\n")
        body = body.rstrip(b"\r\n") + b"\r\n"
        digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
        tag = f" i={identity};" if identity else ""
        field_ = (
            f"DKIM-Signature: v=1; a=rsa-sha256; c=simple/simple; d={domain or self.domain};"
            f" s={SELECTOR};{tag}{tags}\r\n h={':'.join(covers)}; bh={digest};\r\n b="
        ).encode()
        told = b"".join(_last_field(head, name) for name in covers) + field_
        signature = self.key.sign(told, padding.PKCS1v15(), hashes.SHA256())
        return field_ + base64.b64encode(signature) + b"\r\n" + head + b"\r\n\r\n" + body


def _last_field(head: bytes, name: str) -> bytes:
    """Return a field with the lines that continue it; the last of several is what is signed."""
    form = rf"(?im)^{name}:[^\r]*(?:\r\n[ \t][^\r]*)*".encode()
    found = re.findall(form, head)
    return found[-1] + b"\r\n" if found else b""


class CheckedMail:
    """The servers, from entering to leaving `running`."""

    def __init__(self, folder: Path, zone: ZoneServer, signers: dict[str, Signer]) -> None:
        self.signers = signers
        names = ("imap", "lmtp", "auth", "opendkim", "opendmarc", *WAYS_IN)
        self.ports = {name: free_port() for name in names}
        self.imap = self.ports["imap"]
        self._mail = folder / "dovecot" / "mail"
        mail_server.write_dovecot(folder / "dovecot", self.ports)
        mail_server.write_postfix(folder / "postfix", _MAIN, _SERVICES, self.ports)
        (folder / "resolv.conf").write_text(
            f"nameserver {zone.address}\noptions timeout:2 attempts:1\n"
        )
        told = {"folder": folder, "dns": zone.address, **self.ports}
        (folder / "no-hosts").write_text("192.0.2.1\n")
        (folder / "opendkim.conf").write_text(_OPENDKIM.format(**told))
        (folder / "opendmarc.conf").write_text(_OPENDMARC.format(**told))
        (folder / "postfix" / "etc" / "policyd-spf.conf").write_text(_POLICYD)
        self.processes = mail_server.start(_commands(folder), folder / "output")
        self._output = folder / "output"
        for name in self.ports:
            mail_server.wait_for(self.ports[name])

    def submit(self, way_in: str, letter: bytes, envelope: str, to: str) -> str:
        """Hand a letter in as any stranger does; return why it was refused, or nothing.

        Args:
            envelope: what stands between < and > of MAIL FROM.
        """
        with contextlib.suppress(smtplib.SMTPServerDisconnected), self._client(way_in) as client:
            for command in (f"MAIL FROM:<{envelope}>", f"RCPT TO:<{to}>"):
                code, reply = client.docmd(command)
                if code >= 400:
                    return f"{code} {reply.decode(errors='replace')}"
            code, reply = client.data(letter)
            return "" if code < 400 else f"{code} {reply.decode(errors='replace')}"
        return "the server hung up"

    def letters(self, to: str) -> list[bytes]:
        return mail_server.delivered(self._mail / to)

    def wait_for_letters(self, to: str, count: int) -> list[bytes]:
        wait_until_sync(lambda: len(self.letters(to)) >= count, look_s=0.05)
        return self.letters(to)

    @contextlib.contextmanager
    def _client(self, way_in: str) -> Iterator[smtplib.SMTP]:
        with smtplib.SMTP(
            "127.0.0.1", self.ports[way_in], "localhost", 20, source_address=(_STRANGERS_ADDRESS, 0)
        ) as client:
            client.helo(f"mail.{STRANGER_DOMAIN}")
            yield client


@contextlib.contextmanager
def running(folder: Path) -> Iterator[CheckedMail]:
    """Skips where it cannot run, and says why."""
    mail_server.need_servers()
    if reason := why_not():
        pytest.skip(reason)
    signers = {name: Signer(name) for name in (OWNER_DOMAIN, STRANGER_DOMAIN)}
    texts: dict[str, Sequence[str]] = {
        OWNER_DOMAIN: ["v=spf1 ip4:127.0.0.0/8 -all"],
        STRANGER_DOMAIN: ["v=spf1 ip4:127.0.0.0/8 -all"],
        f"mail.{STRANGER_DOMAIN}": ["v=spf1 ip4:127.0.0.0/8 -all"],
        f"_dmarc.{OWNER_DOMAIN}": ["v=DMARC1; p=none"],
        f"_dmarc.{STRANGER_DOMAIN}": ["v=DMARC1; p=none"],
        **{f"{SELECTOR}._domainkey.{one.domain}": [one.record] for one in signers.values()},
    }
    zone = ZoneServer(texts, {})
    server = None
    try:
        server = CheckedMail(folder, zone, signers)
        yield server
    finally:
        if server is not None:
            mail_server.end(server.processes)
        zone.close()


def _commands(folder: Path) -> Iterator[Sequence[str]]:
    yield mail_server.dovecot_command(folder / "dovecot")
    for command in (
        mail_server.postfix_command(folder / "postfix"),
        ("/usr/sbin/opendkim", "-f", "-x", str(folder / "opendkim.conf")),
        ("/usr/sbin/opendmarc", "-f", "-c", str(folder / "opendmarc.conf")),
    ):
        yield ("/bin/sh", "-c", _WITH_RESOLVER, "sh", str(folder / "resolv.conf"), *command)


# With its own resolv.conf, the first argument, where nobody else sees it
_WITH_RESOLVER = (
    "exec unshare --mount /bin/sh -c "
    '\'mount --bind "$1" /etc/resolv.conf; shift; exec "$@"\' sh "$@"'
)
