"""IMAP mailbox: new mails, and the server's notice of them.

How far it was read is the number of the last letter (UID), which holds as long as the server says
that it numbers as before (UIDVALIDITY); else what came of late is read again, and known by its id.
Python's own client blocks, so it works in a thread; cutting the connection ends what it waits for.
"""

import asyncio
import contextlib
import imaplib
import re
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import mktime_tz, parsedate_tz
from functools import partial
from itertools import zip_longest
from typing import TypeVar

from msgspec import Struct

from agent.channels.email.batches import EmailBatch, batches
from agent.channels.email.cursor import EmailCursor
from agent.channels.email.mailbox_names import written_name
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable
from agent.net.addresses import connect_error
from agent.text.printable import printable_line

R = TypeVar("R")

# Name, network, TLS and each answer; the largest letter comes in many
NETWORK_TIMEOUT_S = 30.0
# Then the server is asked whether it is there, well before silence is taken for deafness
IDLE_S = 50.0
# Where the server cannot say that there is something new
POLL_S = 20.0
# Read again where the numbers are new
RECENT_DAYS = 3
# At once after a long absence; the rest follows
MAX_AT_ONCE = 200
MAX_REASON_CHARS = 200
_READ_BYTES = 4096
_IDLE_TAG = b"BARNACLE"
_IDLE_OVER = re.compile(rb"^BARNACLE (\w+)", re.MULTILINE)
_SOMETHING_NEW = re.compile(rb"^\* \d+ (EXISTS|RECENT)\r$|^BARNACLE ", re.MULTILINE)
_SIZE = re.compile(rb"RFC822\.SIZE (\d{1,10})\b")
_UID = re.compile(rb"\bUID (\d{1,10})\b")
_CAME = re.compile(rb'\bINTERNALDATE "([ -~]{1,40})"')


class ImapAccount(Struct, frozen=True):
    """IMAP account; `context` is None for a connection without TLS."""

    host: str
    port: int
    context: ssl.SSLContext | None
    user: str
    password: Secret
    folder: str


class NewEmail(Struct, frozen=True):
    """New mail; `raw` is only its header if the mail is too large.

    Args:
        came_at_s: when the server got it, seconds since the epoch; None where it does not say.
    """

    uid: int
    raw: bytes
    is_whole: bool
    came_at_s: float | None = None


class ImapMailbox:
    """One IMAP connection, made by `entered`.

    Args:
        validity: the server's numbers are those of another time where this is another one.
        following: the number that the next letter gets.
    """

    def __init__(self, client: imaplib.IMAP4, validity: int, following: int) -> None:
        self._client = client
        self.validity = validity
        self.following = following
        # Held by the thread that speaks with the server
        self._at_work = threading.Lock()

    async def new(self, position: EmailCursor) -> AsyncIterator[NewEmail]:
        """Return the mails after the cursor, the oldest first.

        Raises:
            ChannelUnavailable: the server went away.
        """
        lost = position.lost
        for batch in await self._do(lambda: batches(self._sizes(self._uids(position)), lost)):
            try:
                letters = await self._do(partial(self._fetched, batch))
            except ChannelUnavailable as err:
                if _is_servers_own(err.__cause__):
                    lost.note(batch.uids)
                raise
            lost.forget(batch.uids)
            for arrived in letters:
                yield arrived

    async def wait(self) -> None:
        """Wait until there may be new mail, or until a silent connection must be checked.

        Raises:
            ChannelUnavailable: the server gives no sign of life.
        """
        if self._has_news():
            return
        if "IDLE" in self._client.capabilities:
            await self._do(self._idle)
        else:
            await asyncio.sleep(POLL_S)
        await self._do(lambda: _checked(self._client.noop(), "NOOP"))

    def close(self) -> None:
        """Close the connection, also under a waiting thread."""
        with contextlib.suppress(OSError):
            self._client.sock.shutdown(socket.SHUT_RDWR)
        with self._at_work:
            self._client.shutdown()

    def _has_news(self) -> bool:
        """Return true, once, if an answer to something else told of new letters.

        A server does not say again while it idles what it has said before.
        """
        told = self._client.response("EXISTS")[1]
        return told is not None and any(told)

    def _uids(self, position: EmailCursor) -> list[int]:
        # What was told before is found now
        self._has_news()
        if position.validity == self.validity:
            # `n:*` is never empty: the last letter is in it whatever its number
            found = self._search("UID", f"{position.uid + 1}:*")
            found = [uid for uid in found if uid > position.uid]
        else:
            since = datetime.now(UTC) - timedelta(days=RECENT_DAYS)
            found = self._search("SINCE", since.strftime("%d-%b-%Y"))
        return sorted(found)[:MAX_AT_ONCE]

    def _search(self, *criteria: str) -> list[int]:
        told = _checked(self._client.uid("SEARCH", *criteria), "SEARCH")
        words = (told[0] if told and isinstance(told[0], bytes) else b"").split()
        return [int(word) for word in words if word.isdigit()]

    def _sizes(self, uids: Sequence[int]) -> list[tuple[int, int]]:
        """Return number and size of the letters that are still there."""
        told = self._fetch(uids, "(RFC822.SIZE)") if uids else []
        lines = ((_number_in(line, _UID), _number_in(line, _SIZE)) for line in told)
        # What somebody marks meanwhile is told in between, without a size
        found = {uid: size for uid, size in lines if size >= 0}
        return [(uid, found[uid]) for uid in uids if uid in found]

    def _fetched(self, batch: EmailBatch) -> list[NewEmail]:
        part = "BODY.PEEK[]" if batch.is_whole else "BODY.PEEK[HEADER]"
        told = self._fetch(batch.uids, f"(INTERNALDATE {part})")
        found = {one.uid: one for one in _letters(told, is_whole=batch.is_whole) if one.raw}
        return [found[uid] for uid in batch.uids if uid in found]

    def _fetch(self, uids: Sequence[int], what: str) -> Sequence[object]:
        return _checked(self._client.uid("FETCH", ",".join(map(str, uids)), what), "FETCH")

    def _idle(self) -> None:
        """Wait by IDLE (RFC 2177), which Python's client learns only in 3.14."""
        socket_of = self._client.sock
        self._client.send(_IDLE_TAG + b" IDLE\r\n")
        told = b""
        deadline_s = time.monotonic() + IDLE_S
        try:
            # What came just before counts as well as what comes
            while not _SOMETHING_NEW.search(told):
                socket_of.settimeout(max(deadline_s - time.monotonic(), 0.01))
                told += _received(socket_of)
        except TimeoutError:
            pass
        finally:
            socket_of.settimeout(NETWORK_TIMEOUT_S)
        self._client.send(b"DONE\r\n")
        while (found := _IDLE_OVER.search(told)) is None:
            told += _received(socket_of)
        if found[1] != b"OK":
            raise imaplib.IMAP4.abort("the server cannot idle")

    async def _do(self, work: Callable[[], R]) -> R:
        def alone() -> R:
            with self._at_work:
                return work()

        return await _in_thread(alone)


@contextlib.asynccontextmanager
async def entered(account: ImapAccount) -> AsyncIterator[ImapMailbox]:
    """Open the mailbox for the length of the block.

    Raises:
        ChannelRefused: the account, or the folder, is not to be had.
        ChannelUnavailable: the server is not there, or not now.
    """
    opening = _Opening()
    try:
        mailbox = await _in_thread(partial(opening.run, account))
        yield mailbox
    finally:
        opening.give_up()


class _Opening:
    """Connection attempt of a thread; closed at once if nobody waits for it any more."""

    def __init__(self) -> None:
        self._deciding = threading.Lock()
        self._is_given_up = False
        self._mailbox: ImapMailbox | None = None

    def run(self, account: ImapAccount) -> ImapMailbox:
        mailbox = _opened(account)
        with self._deciding:
            self._mailbox = mailbox
            if self._is_given_up:
                mailbox.close()
        return mailbox

    def give_up(self) -> None:
        with self._deciding:
            self._is_given_up = True
            if self._mailbox is not None:
                self._mailbox.close()


def _number_in(line: object, form: re.Pattern[bytes]) -> int:
    """Return the number in a line of the server; -1 if there is none."""
    found = form.search(line) if isinstance(line, bytes) else None
    return int(found[1]) if found else -1


def _letters(told: Sequence[object], *, is_whole: bool) -> Iterator[NewEmail]:
    """Yield the letters; a server tells number and time of each before its content or behind it."""
    for one, behind in zip_longest(told, told[1:]):
        if isinstance(one, tuple):
            uid = max(_number_in(one[0], _UID), _number_in(behind, _UID))
            came_at_s = _time_in(one[0]) or _time_in(behind)
            yield NewEmail(uid, one[1], is_whole, came_at_s)


def _time_in(line: object) -> float | None:
    found = _CAME.search(line) if isinstance(line, bytes) else None
    told = parsedate_tz(found[1].decode("ascii")) if found else None
    try:
        return None if told is None else mktime_tz(told)
    except (ValueError, OverflowError):
        return None


def _received(source: socket.socket) -> bytes:
    piece = source.recv(_READ_BYTES)
    if not piece:
        raise imaplib.IMAP4.abort("the connection ended")
    return piece


def _opened(account: ImapAccount) -> ImapMailbox:
    place = (account.host, account.port)
    try:
        client = (
            imaplib.IMAP4_SSL(*place, ssl_context=account.context, timeout=NETWORK_TIMEOUT_S)
            if account.context
            else imaplib.IMAP4(*place, timeout=NETWORK_TIMEOUT_S)
        )
    except ssl.SSLCertVerificationError as err:
        raise ChannelUnavailable(distrusted(account.host, err)) from err
    except OSError as err:
        where = f"{account.host}:{account.port}"
        raise ChannelUnavailable(
            f"cannot reach the mail server {where} ({connect_error(err)}): check "
            "channels.email.imap and the network"
        ) from err
    try:
        return _entered(client, account)
    except BaseException:
        client.shutdown()
        raise


def distrusted(host: str, err: ssl.SSLCertVerificationError) -> str:
    """Return why a mail server is not believed, and what to do."""
    return (
        f"the certificate of the mail server {host} is not trusted ({err.verify_message}): set "
        "channels.email.ca_file to that of its authority"
    )


def _entered(client: imaplib.IMAP4, account: ImapAccount) -> ImapMailbox:
    _log_in(client, account)
    result, _ = client.select(written_name(account.folder))
    if result != "OK":
        raise ChannelRefused(f"mail folder {account.folder} not found: set channels.email.folder")
    return ImapMailbox(client, _number(client, "UIDVALIDITY"), _number(client, "UIDNEXT"))


def _log_in(client: imaplib.IMAP4, account: ImapAccount) -> None:
    user, password = account.user, account.password.reveal()
    try:
        if user.isascii() and password.isascii():
            client.login(user, password)
        else:
            # LOGIN takes no other letters
            client.authenticate("PLAIN", lambda _: f"\0{user}\0{password}".encode())
    except imaplib.IMAP4.abort:
        raise
    except imaplib.IMAP4.error as err:
        raise ChannelRefused(
            f"mail login of {account.user} refused ({_reason(err)}): set channels.email.user "
            "and password_file; some services need a password made for programs"
        ) from err


def _number(client: imaplib.IMAP4, name: str) -> int:
    told = client.response(name)[1]
    if not told or not isinstance(told[0], bytes) or not told[0].isdigit():
        raise ChannelRefused(f"the mail server's answer to {name} is not IMAP4rev1")
    return int(told[0])


async def _in_thread(work: Callable[[], R]) -> R:
    with _speaking():
        return await asyncio.to_thread(work)


@contextlib.contextmanager
def _speaking() -> Iterator[None]:
    try:
        yield
    except (imaplib.IMAP4.error, OSError, ValueError) as err:
        raise ChannelUnavailable(f"connection to the mail server lost: {_reason(err)}") from err


def _is_servers_own(err: BaseException | None) -> bool:
    """Return true for an error in the server's words, and not of the way to it."""
    return isinstance(err, imaplib.IMAP4.error) and "socket error" not in str(err)


def _checked(answer: tuple[str, Sequence[object]], name: str) -> Sequence[object]:
    if answer[0] != "OK":
        raise imaplib.IMAP4.abort(f"{name} is answered by {answer[0]}")
    return answer[1]


def _reason(err: Exception) -> str:
    return printable_line(str(err) or type(err).__name__, MAX_REASON_CHARS)
