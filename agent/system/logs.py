"""Logging, set up once: one line per record on standard error, without secrets.

In the journal a line carries its level as a prefix and no time, which the journal has itself;
elsewhere it begins with time and level. Nothing that was logged can begin a line of its own.
A record goes to the journal with what it is about, as fields that `journalctl` finds it by.
"""

import contextlib
import contextvars
import functools
import importlib
import logging
import os
import re
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal, TextIO

from agent.config import ConfigSection

# A line longer than this is cut: the journal would split it
MAX_LINE_CHARS = 16_000
# Everything that moves the cursor, changes direction, or is not there to be seen
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
# Of the libraries only what is wrong: theirs is one line for every request
_TALKATIVE = ("httpx", "httpcore", "asyncio")

# What a record is about is a name or a number; a longer one is somebody else's text
MAX_FIELD_CHARS = 200

Redact = Callable[[str], str]
# Takes every field of an entry as NAME=value; systemd's own name for it
SendFields = Callable[..., object]

_about: contextvars.ContextVar[Mapping[str, str]] = contextvars.ContextVar("about")
# Syslog priorities: see sd-daemon(3)
_PRIORITIES = (
    (logging.CRITICAL, 2),
    (logging.ERROR, 3),
    (logging.WARNING, 4),
    (logging.INFO, 6),
)
SOCKET = Path("/run/systemd/journal/socket")
# The journal takes thousands in a second; one that hangs must not hang the agent with it
SEND_TIMEOUT_S = 0.1


class LogSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[log]` section."""

    level: Literal["debug", "info", "warning", "error"] = "info"


def set_up(
    settings: LogSettings,
    redact: Redact,
    stream: TextIO | None = None,
    environ: Mapping[str, str] | None = None,
) -> None:
    """Send the records of the whole process to `stream`; a second call replaces the first."""
    stream = sys.stderr if stream is None else stream
    environ = os.environ if environ is None else environ
    handler = _handler(redact, stream, is_journal=writes_to_journal(stream, environ))
    root = logging.getLogger()
    for old in root.handlers[:]:
        if isinstance(old.formatter, LineFormatter):
            root.removeHandler(old)
    root.addHandler(handler)
    set_level(settings)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    # A full disk or a closed terminal must not turn every record into a traceback
    logging.raiseExceptions = False


def set_level(settings: LogSettings) -> None:
    """From now on, for everything."""
    logging.getLogger().setLevel(settings.level.upper())


@contextlib.contextmanager
def about(**fields: str) -> Iterator[None]:
    """Records made inside, also by tasks begun inside, say in the journal what they are about.

    A field `tool` is found by `journalctl BARNACLE_TOOL=...`.
    """
    token = _about.set({**_about.get({}), **fields})
    try:
        yield
    finally:
        _about.reset(token)


def _handler(redact: Redact, stream: TextIO, *, is_journal: bool) -> logging.Handler:
    if is_journal and (send := _send_fields()) is not None:
        return FieldsHandler(redact, send)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JournalFormatter(redact) if is_journal else PlainFormatter(redact))
    return handler


def _send_fields() -> SendFields | None:
    """By systemd's library, Debian's python3-systemd, or by the journal's socket without it."""
    try:
        send: SendFields = importlib.import_module("systemd.journal").sendv
    except (ImportError, AttributeError):
        return _own_send_fields()
    return send


@functools.cache
def _own_send_fields() -> SendFields | None:
    """One socket for the whole process, however often logging is set up."""
    try:
        return SystemdJournal().send
    except OSError:
        return None


def writes_to_journal(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Return true if `stream` is the very pipe that systemd connected to the journal."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def one_line(text: str) -> str:
    """Text in which everything that cannot be seen is spelled out, cut at the longest line."""
    seen = _UNSEEN.sub(_spelled_out, text[:MAX_LINE_CHARS])
    return seen if len(text) <= MAX_LINE_CHARS else f"{seen} [... {len(text)} characters]"


class LineFormatter(logging.Formatter):
    """A record and its traceback as one line; what precedes it is the subclass's."""

    def __init__(self, redact: Redact) -> None:
        super().__init__("%(name)s: %(message)s")
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        try:
            text = super().format(record)
        except (TypeError, ValueError):
            # A call whose arguments do not fit its text: better shown than lost
            text = f"{record.name}: {record.msg} {record.args}"
        return f"{self.prefix(record)}{one_line(self._redact(text))}"

    def prefix(self, record: logging.LogRecord) -> str:
        """Return the text before a log line."""
        raise NotImplementedError


class PlainFormatter(LineFormatter):
    """For terminals and files: UTC time to the millisecond and level first."""

    def prefix(self, record: logging.LogRecord) -> str:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        return f"{stamp}.{int(record.msecs):03d}Z {record.levelname.lower():<7} "


def _priority(record: logging.LogRecord) -> int:
    found = (number for level, number in _PRIORITIES if record.levelno >= level)
    return next(found, 7)


class JournalFormatter(LineFormatter):
    """For the journal: the priority as systemd reads it."""

    def prefix(self, record: logging.LogRecord) -> str:
        return f"<{_priority(record)}>"


class TextFormatter(LineFormatter):
    """The text alone: the rest has fields of its own."""

    def prefix(self, record: logging.LogRecord) -> str:
        return ""


class FieldsHandler(logging.Handler):
    """For the journal by its own protocol: a record with its fields, without secrets."""

    def __init__(self, redact: Redact, send: SendFields) -> None:
        super().__init__()
        self._redact = redact
        self._send = send
        self.setFormatter(TextFormatter(redact))

    def emit(self, record: logging.LogRecord) -> None:
        # A journal that is being restarted takes nothing: a record is lost, and no work
        with contextlib.suppress(OSError):
            self._send(
                f"MESSAGE={self.format(record)}",
                f"PRIORITY={_priority(record)}",
                "SYSLOG_IDENTIFIER=barnacle",
                f"LOGGER={record.name}",
                f"CODE_FILE={record.pathname}",
                f"CODE_LINE={record.lineno}",
                f"CODE_FUNC={record.funcName}",
                *(
                    f"BARNACLE_{name.upper()}={self._field(value)}"
                    for name, value in _about.get({}).items()
                ),
            )

    def _field(self, value: str) -> str:
        return one_line(self._redact(value))[:MAX_FIELD_CHARS]


def _spelled_out(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


class SystemdJournal:
    """Journal of the system, if there is one.

    Raises:
        OSError: there is none.
    """

    def __init__(self, path: Path = SOCKET) -> None:
        self._path = str(path)
        if not path.is_socket():
            raise FileNotFoundError(self._path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.settimeout(SEND_TIMEOUT_S)

    def send(self, *fields: str) -> None:
        """One entry, each field as NAME=value.

        Raises:
            OSError: it was not taken.
        """
        # By address, not connected: a journal that starts again is found again
        self._socket.sendto(b"".join(map(_encoded, fields)), self._path)

    def close(self) -> None:
        self._socket.close()


def _encoded(field: str) -> bytes:
    name, _, value = field.partition("=")
    content = value.encode("utf-8", "replace")
    if b"\n" not in content:
        return b"%s=%s\n" % (name.encode(), content)
    # A line feed would begin another field
    return b"%s\n%s%s\n" % (name.encode(), struct.pack("<Q", len(content)), content)
