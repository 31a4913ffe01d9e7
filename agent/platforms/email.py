"""Mail, composed."""

import ssl
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from agent.channels.base import Channel
from agent.channels.email.channel import NAME, EmailChannel
from agent.channels.email.mailbox import Account, entered
from agent.channels.email.posting import Submission, greet
from agent.channels.settings import ChannelsSettings, EmailSettings
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.network import is_this_machine
from agent.platforms.base import Platform, Reach, Wanted, place_of
from agent.platforms.credentials import find_secret
from agent.tls import tls_context

_PORTS = {"imaps": 993, "imap": 143, "submissions": 465, "submission": 587}


class Email(Platform):
    """A mailbox of the agent's own."""

    name = NAME
    about = "a mailbox of the agent's own"
    wanted = (
        Wanted("address", "The address", "Give the agent a mailbox that nobody else reads."),
        Wanted("imap", "Where it is read, such as imaps://imap.example.org"),
        Wanted("smtp", "Where letters are handed in, such as submissions://smtp.example.org"),
        Wanted("user", "What it logs in as, where that is not the address", is_needed=False),
        Wanted("password", "The password", is_secret=True),
        Wanted(
            "authserv_id",
            "Who vouches for letters",
            "It is what stands before the first ; of Authentication-Results, in the source of any "
            "letter that came to that mailbox.",
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _password(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: Reach) -> Channel:
        wanted = _wanted(channels)
        password = _password(wanted, reach.environ)
        _check(wanted, password)
        account, submission = _account(wanted, password), _submission(wanted, password)
        place = place_of(self.name, channels, reach)
        return EmailChannel(account, submission, wanted.authserv_id, place, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: Reach) -> str:
        wanted = _wanted(channels)
        password = _password(wanted, reach.environ)
        _check(wanted, password)
        async with entered(_account(wanted, password)):
            pass
        await greet(_submission(wanted, password))
        return f"reads and writes letters as {wanted.address}, where {wanted.authserv_id} vouches"


PLATFORM = Email()


def _wanted(channels: ChannelsSettings) -> EmailSettings:
    return channels.email or EmailSettings()


def _password(wanted: EmailSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("email_password", wanted.password, wanted.password_file, environ)


def _check(wanted: EmailSettings, password: Secret) -> None:
    for key in ("address", "imap", "smtp"):
        if not getattr(wanted, key):
            raise ConfigRefused(f"channels.email.{key} is not set")
    if not password:
        raise ConfigRefused(
            "channels.email has no password: set password_file, or BARNACLE_EMAIL_PASSWORD"
        )
    if not wanted.authserv_id:
        raise ConfigRefused(
            "channels.email.authserv_id is not set: without it nobody knows which letters are "
            "true. It is what stands before the first ; of Authentication-Results, in any letter "
            "that came to that mailbox"
        )


def _account(wanted: EmailSettings, password: Secret) -> Account:
    place = urlsplit(wanted.imap)
    host, port = place.hostname or "", place.port or _PORTS[place.scheme]
    context = _context("imap", host, is_encrypted=place.scheme == "imaps")
    return Account(host, port, context, wanted.user or wanted.address, password, wanted.folder)


def _submission(wanted: EmailSettings, password: Secret) -> Submission:
    place = urlsplit(wanted.smtp)
    host, port = place.hostname or "", place.port or _PORTS[place.scheme]
    is_implicit = place.scheme == "submissions"
    # Without TLS from the first byte it is begun, unless nobody is between
    context = None if not is_implicit and is_this_machine(host) else tls_context()
    user = wanted.user or wanted.address
    return Submission(host, port, context, is_implicit, user, password, wanted.address)


def _context(key: str, host: str, *, is_encrypted: bool) -> ssl.SSLContext | None:
    if is_encrypted:
        return tls_context()
    if not is_this_machine(host):
        raise ConfigRefused(f"channels.email.{key}: letters are read over {key}s:// alone")
    return None
