"""Sender of mails by submission (RFC 6409), over TLS or on this machine."""

import asyncio
import contextlib
import email.policy
import enum
import mimetypes
import re
import ssl
from collections.abc import AsyncIterator, Sequence
from email.message import EmailMessage
from email.utils import formatdate
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.channels.email.receive import distrusted
from agent.channels.email.threads import EmailHeaders
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused
from agent.messages import Attachment
from agent.text.printable import printable_line

if TYPE_CHECKING:
    import aiosmtplib

# Connecting, and each answer of the server
SUBMIT_TIMEOUT_S = 60.0
# A slow line takes a letter's files no faster; the answer to a whole letter waits for that too
LEAST_BYTES_PER_S = 48 * 1024
MAX_REASON_CHARS = 200
MAX_SUBJECT_CHARS = 120
# It stands in what people quote
DISPLAY_NAME = "Barnacle"
_TEMPORARY, _PERMANENT = 400, 500
_AUTHENTICATION = frozenset({530, 534, 535, 538})
# Said to the sender's address, but of the letter: its size, and what an option asks for
_OF_THE_LETTER = frozenset({552, 555})
# Postfix says so of the sender at the recipient, Exchange at the end of the letter
_SENDER_REFUSED = re.compile(
    r"sender address rejected|send(?:ing)? as this sender|sendasdenied|not owned by user",
    re.IGNORECASE,
)


class SmtpTls(enum.Enum):
    """Start of encryption; each value is what aiosmtplib calls `start_tls`."""

    # From the first byte
    FROM_THE_START = False
    # Asked for before anything is said; without it nothing is
    BEGUN = True
    # Begun where the server offers it, on this machine
    OFFERED = None


class SmtpSubmission(Struct, frozen=True):
    """Submission server and the account there."""

    host: str
    port: int
    context: ssl.SSLContext
    tls: SmtpTls
    user: str
    password: Secret
    sender: str


class EmailDraft(Struct, frozen=True):
    """Mail to be written; `answers` is the id of the previous one."""

    to: str
    text: str
    own_id: str
    answers: str
    thread: str
    heading: EmailHeaders
    files: Sequence[Attachment] = ()


class _Ids(str):
    """Ids of letters: the standard library would write a long one as an encoded word."""

    __slots__ = ("name",)
    name: str

    def fold(self, *, policy: email.policy.Policy) -> str:
        lines = f"{policy.linesep} ".join(self.split())
        return f"{self.name}: {lines}{policy.linesep}"


def written(draft: EmailDraft, sender: str, now_s: float) -> EmailMessage:
    """Return the draft as a mail.

    Raises:
        MessageRefused: it cannot be one, or a file of it is not there.
    """
    letter = EmailMessage(policy=email.policy.SMTP)
    subject = draft.heading.subject
    try:
        letter["From"] = f"{DISPLAY_NAME} <{sender}>"
        letter["To"] = draft.to
        letter["Subject"] = _answering(subject) if subject else _first_words(draft.text)
        letter["Date"] = formatdate(now_s)
        letter["Message-ID"] = draft.own_id
        # No machine answers this, and no absence note
        letter["Auto-Submitted"] = "auto-replied" if draft.answers else "auto-generated"
        if draft.answers:
            letter["In-Reply-To"] = _ids("In-Reply-To", [draft.answers])
            letter["References"] = _ids("References", _references(draft))
        letter.set_content(draft.text or " ", cte="quoted-printable")
    except ValueError as err:
        raise MessageRefused(f"cannot write the mail: {err}") from err
    return letter


def attach(letter: EmailMessage, files: Sequence[Attachment]) -> None:
    """Attach files to the mail; blocks.

    Raises:
        OSError: one is not there.
    """
    for file in files:
        path = Path(file.path)
        guessed = file.media_type or mimetypes.guess_type(path.name)[0] or ""
        main, _, sub = guessed.partition("/")
        kind = (main, sub) if main and sub else ("application", "octet-stream")
        name = file.name or path.name
        letter.add_attachment(path.read_bytes(), maintype=kind[0], subtype=kind[1], filename=name)


async def greet(where: SmtpSubmission) -> None:
    """Log in to the server, begin a letter to ourselves, and leave.

    Raises:
        ChannelRefused: it does not take us, or not by this address.
        ChannelUnavailable: it is not there, or not now.
    """
    import aiosmtplib  # noqa: PLC0415 - a letter needs it, no start

    async with _session(where) as client:
        if not where.sender.isascii():
            # Which a server takes or not by what the letter is
            return
        await client.mail(where.sender)
        try:
            await client.rcpt(where.sender)
        except aiosmtplib.SMTPResponseException as err:
            # It may not like its own person as a recipient, which is of no use to know
            if err.code >= _PERMANENT and _SENDER_REFUSED.search(err.message):
                raise
        await client.rset()


async def submit(letter: EmailMessage, where: SmtpSubmission) -> None:
    """Hand in the mail; return when the server has it.

    Raises:
        ChannelRefused: it does not take us.
        MessageRefused: it will never take this letter.
        ChannelUnavailable: it does not take it now.
    """
    carried_s = _encoded_bytes(letter) / LEAST_BYTES_PER_S
    async with _session(where, carried_s) as client:
        try:
            timeout_s = SUBMIT_TIMEOUT_S + carried_s
            await client.send_message(letter, sender=where.sender, timeout=timeout_s)
        except ValueError as err:
            raise MessageRefused(f"invalid mail address: {err}") from err


def _encoded_bytes(letter: EmailMessage) -> int:
    """Return the size of the letter's files as they go over the line."""
    return sum(len(str(part.get_payload())) for part in letter.iter_attachments())


@contextlib.asynccontextmanager
async def _session(
    where: SmtpSubmission, carried_s: float = 0.0
) -> "AsyncIterator[aiosmtplib.SMTP]":
    import aiosmtplib  # noqa: PLC0415 - a letter needs it, no start

    client = aiosmtplib.SMTP(
        hostname=where.host,
        port=where.port,
        timeout=SUBMIT_TIMEOUT_S,
        use_tls=where.tls is SmtpTls.FROM_THE_START,
        start_tls=where.tls.value,
        tls_context=where.context,
        # Else the network is asked what this machine is called, which is nobody's business
        local_hostname="localhost",
    )
    try:
        async with asyncio.timeout(2 * SUBMIT_TIMEOUT_S + carried_s), client:
            if where.password:
                await client.login(where.user, where.password.reveal())
            yield client
    except aiosmtplib.SMTPRecipientsRefused as err:
        worst = max(err.recipients, key=lambda one: one.code, default=None)
        code, said = (worst.code, worst.message) if worst else (_PERMANENT, str(err))
        raise _refusal(code, said, where) from err
    except aiosmtplib.SMTPResponseException as err:
        is_of_sender = isinstance(err, aiosmtplib.SMTPSenderRefused)
        raise _refusal(err.code, err.message, where, is_of_sender=is_of_sender) from err
    except (aiosmtplib.SMTPException, OSError, TimeoutError) as err:
        if (distrust := _distrust(err)) is not None:
            raise ChannelUnavailable(distrusted(where.host, distrust)) from err
        raise ChannelUnavailable(
            f"the mail server accepts no mail for now: {_reason(err)}"
        ) from err


def _distrust(err: BaseException | None) -> ssl.SSLCertVerificationError | None:
    """Return the reason in TLS, which the library wraps."""
    while err is not None and not isinstance(err, ssl.SSLCertVerificationError):
        err = err.__cause__ or err.__context__
    return err


def _refusal(
    code: int, said: str, where: SmtpSubmission, *, is_of_sender: bool = False
) -> Exception:
    reason = f"{code} {printable_line(said, MAX_REASON_CHARS)}"
    if code in _AUTHENTICATION:
        return ChannelRefused(
            f"the mail server does not let us submit ({reason}): set channels.email.user and "
            "password_file"
        )
    is_of_sender = is_of_sender and code not in _OF_THE_LETTER
    if code >= _PERMANENT and (is_of_sender or _SENDER_REFUSED.search(said)):
        return ChannelRefused(
            f"the mail server does not let {where.user or 'us'} send as {where.sender} ({reason}): "
            "set channels.email.address to an address of that account"
        )
    if code >= _PERMANENT:
        return MessageRefused(f"the mail server refuses the letter: {reason}")
    return ChannelUnavailable(f"the mail server takes the letter later: {reason}")


def _reason(err: Exception) -> str:
    return printable_line(str(err) or type(err).__name__, MAX_REASON_CHARS)


def _answering(subject: str) -> str:
    is_answer = subject[:3].lower() in {"re:", "aw:", "sv:"}
    return printable_line(subject if is_answer else f"Re: {subject}", MAX_SUBJECT_CHARS)


def _first_words(text: str) -> str:
    line = next((one for one in text.splitlines() if one.strip()), "Barnacle")
    return printable_line(line, MAX_SUBJECT_CHARS).strip() or "Barnacle"


def _ids(name: str, ids: Sequence[str]) -> str:
    """Return the value of a header that names letters."""
    value = _Ids(" ".join(ids))
    value.name = name
    # What is no ASCII has to be encoded
    return value if value.isascii() else str(value)


def _references(draft: EmailDraft) -> list[str]:
    return list(dict.fromkeys([draft.thread, *draft.heading.references, draft.answers]))
