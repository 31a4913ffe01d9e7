"""Accounts of `[channels.email]`: where letters are read, handed in, and written to."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from agent.channels.certificate_authority import trust
from agent.channels.email.receive import ImapAccount
from agent.channels.email.replays import EmailReceiver
from agent.channels.email.send import SmtpSubmission, SmtpTls
from agent.channels.settings import EmailSettings
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.net.addresses import is_this_machine
from agent.net.tls import unchecked_context

_CHANNEL = "email"
_PORTS = {"imaps": 993, "imap": 143, "submissions": 465, "submission": 587}


def receiver(wanted: EmailSettings) -> EmailReceiver:
    """Return who gets the letters."""
    own = [one for one in (wanted.address, wanted.user) if "@" in one]
    return EmailReceiver(wanted.authserv_id, (*own, *wanted.aliases))


def imap_account(
    wanted: EmailSettings, password: Secret, environ: Mapping[str, str]
) -> ImapAccount:
    """Return where the mailbox is read.

    Raises:
        ConfigRefused: it is asked for without TLS, or its certificate cannot be read.
    """
    place = urlsplit(wanted.imap)
    host, port = place.hostname or "", place.port or _PORTS[place.scheme]
    is_encrypted = place.scheme == "imaps"
    if not is_encrypted and not is_this_machine(host):
        raise ConfigRefused("channels.email.imap needs TLS: use imaps://")
    context = trust(_CHANNEL, wanted.ca_file, environ) if is_encrypted else None
    return ImapAccount(host, port, context, wanted.user or wanted.address, password, wanted.folder)


def submission(
    wanted: EmailSettings, password: Secret, environ: Mapping[str, str]
) -> SmtpSubmission:
    """Return where letters are handed in.

    Raises:
        ConfigRefused: the certificate of its authority cannot be read.
    """
    place = urlsplit(wanted.smtp)
    host, port = place.hostname or "", place.port or _PORTS[place.scheme]
    tls = SmtpTls.FROM_THE_START if place.scheme == "submissions" else SmtpTls.BEGUN
    context = trust(_CHANNEL, wanted.ca_file, environ)
    if tls is SmtpTls.BEGUN and is_this_machine(host):
        # Nobody is between, and such a server has a certificate for another name, or of its own
        tls = SmtpTls.OFFERED
        context = context if wanted.ca_file else unchecked_context()
    user = wanted.user or wanted.address
    return SmtpSubmission(host, port, context, tls, user, password, wanted.address)
