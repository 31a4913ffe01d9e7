"""Reader of mails: the sender's own words without quotes, the attached files, and commands.

Every byte of it is hostile: what is read is capped, and what cannot be read is said. A command is
looked for in subject and text alike; where there is one, nothing else of the letter is obeyed.
"""

import email.policy
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from email import message_from_bytes
from email.headerregistry import HeaderRegistry
from email.message import EmailMessage, MIMEPart
from email.utils import parseaddr
from functools import lru_cache

from msgspec import Struct

from agent.channels.email.header_fields import MAX_HEADER_BYTES
from agent.channels.email.quotes import own_lines, split_quotes
from agent.channels.platform import COMMANDS
from agent.text.charsets import is_charset
from agent.text.printable import printable_line, printable_text

MAX_TEXT_CHARS = 32_000
MAX_HTML_CHARS = 400_000
# Broken markup can cost the square of its length; Python's own start takes the smallest Pi a second
HTML_TIMEOUT_S = 20.0
UNREADABLE = "[a letter that cannot be read]"
MAX_LINE_CHARS = 400
MAX_REFERENCES = 20
MAX_FILES = 20
# The longest name of a file, encoded; to read a field costs the square of its length
MAX_FIELD_CHARS = 1000
# Lines of the largest letter, as Base64 divides it; each is held in memory by itself
MAX_RAW_LINES = 500_000
# Lines that may begin a part, and fields that may begin parts in a part: each is read one deeper
MAX_BORDERS = 2000
MAX_TYPES = 100
# The parser looks at each line once for each part that it is in
MAX_LOOKS = 10_000_000
_LINE_END = re.compile(rb"\r\n|\n|\r(?!\n)")
_HEADER_END = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")
_BORDER = re.compile(rb"[\r\n]--")
_TYPE = re.compile(rb"[\r\n]content-type:", re.IGNORECASE)
_REGISTRY = HeaderRegistry()
# An address as RFC 5321 bounds it, without what only exists to confuse
_ADDRESS = re.compile(
    r"[^\s@<>\"(),:;\\\[\]]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?"
)
_ID = re.compile(r"<[^<>\s]{1,250}>")
# As mail programs put it before the subject of what they pass on, in the languages of this house
_FORWARD = re.compile(
    r"(?:(?:re|aw|sv|antw)\s*:\s*)*\[?(?:fwd?|wg|tr|rv|i|enc|vs|doorst|pd|转发|轉寄)\s*[:：]",
    re.IGNORECASE,
)
_MACHINES = re.compile(
    r"(mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?)([+@-]|\Z)", re.IGNORECASE
)
_TO_MANY = frozenset({"bulk", "list", "junk"})
# What takes words after it, and which ones
_ARGUMENTS = {
    "estop": r"(?:.*)",
    "model": r"(?: \S+)?",
    "models": r"(?: \S+)?",
    "pair": r"(?:@\w+)?(?: .*)?",
}
_NAMES = [name for name, _ in COMMANDS] + ["clear"]
_COMMAND = re.compile(
    "/(?:" + "|".join(f"{name}{_ARGUMENTS.get(name, '')}" for name in _NAMES) + "|configure yes)",
    re.IGNORECASE,
)
_STOP = re.compile(r"/(?:stop|estop(?! +clear\b).*)", re.IGNORECASE)
# Harmless wherever they stand, below a greeting for one; what loosens something comes first or not
_ANYWHERE = re.compile(rf"{_STOP.pattern}|/pair(?:@\w+)? .*", re.IGNORECASE)
# A command has a few words, a line of a letter may have any number
MAX_COMMAND_CHARS = 100
# A command is not looked for below so many lines
MAX_LOOKED_LINES = 50


class EmailFile(Struct, frozen=True):
    """File attached to a mail."""

    name: str
    media_type: str
    content: bytes


class ReceivedEmail(Struct, frozen=True):
    """Mail, parsed.

    Args:
        sender: the address in From, in lower case; whether it is true is not said here.
        references: ids of the letters before it, the first one first.
        quoted: what it repeats of them.
    """

    message_id: str
    sender: str
    sender_name: str
    subject: str
    text: str
    quoted: str
    references: tuple[str, ...]
    files: tuple[EmailFile, ...]

    @property
    def is_answer(self) -> bool:
        return bool(self.references)

    @property
    def is_forwarded(self) -> bool:
        """Return true if the subject says that somebody else wrote the content."""
        return _FORWARD.match(self.subject) is not None

    @property
    def domain(self) -> str:
        return self.sender.rpartition("@")[2]


def is_readable(raw: bytes) -> bool:
    """Return true if the parser takes the letter apart in little time and memory."""
    lines, types = _count(_LINE_END, raw), _count(_TYPE, raw)
    is_small = lines <= MAX_RAW_LINES and types <= MAX_TYPES and _count(_BORDER, raw) <= MAX_BORDERS
    return is_small and lines * (types + 1) <= MAX_LOOKS


def header_of(raw: bytes) -> bytes:
    """Return the letter's header, which alone is read where the whole is not."""
    found = _HEADER_END.search(raw, 0, MAX_HEADER_BYTES)
    return raw[: found.end() if found else MAX_HEADER_BYTES]


def parsed(raw: bytes) -> EmailMessage:
    # The default policy makes EmailMessages, whose headers are decoded
    policy = email.policy.default.clone(header_factory=_field)
    message = message_from_bytes(raw, policy=policy)
    assert isinstance(message, EmailMessage)
    return message


def _field(name: str, value: str) -> str:
    return _read_field(name, value[:MAX_FIELD_CHARS])


# Each is asked for several times
@lru_cache(maxsize=2 * MAX_TYPES)
def _read_field(name: str, value: str) -> str:
    try:
        return _REGISTRY(name, value)
    except (ValueError, TypeError, AttributeError, IndexError, RecursionError):
        # The standard library's parser gives up on some that people made to that end
        return _REGISTRY(name, "")


def _count(form: re.Pattern[bytes], raw: bytes) -> int:
    return sum(1 for _ in form.finditer(raw))


def why_not_for_us(message: EmailMessage, own: str) -> str:
    """Return why the mail gets no answer, for example from a machine; empty if it gets one."""
    automatic = _header(message, "auto-submitted").partition(";")[0].strip().lower()
    sender = sender_of(message)
    reasons = {
        "a machine has written it (Auto-Submitted)": automatic not in {"", "no"},
        "it went to many (Precedence)": _header(message, "precedence").strip().lower() in _TO_MANY,
        "a list has sent it": "list-id" in message or "list-unsubscribe" in message,
        "it is a report of a server": _header(message, "return-path").strip() == "<>",
        "it is from nobody": _ADDRESS.fullmatch(sender) is None,
        "it is our own": sender == own.lower(),
        "its sender takes no answers": _MACHINES.match(sender) is not None,
    }
    return next((reason for reason, is_so in reasons.items() if is_so), "")


def sender_of(message: EmailMessage) -> str:
    """Return the address in From, in lower case."""
    return parseaddr(_header(message, "from"))[1].lower()


def read_letter(message: EmailMessage, own: Sequence[str] = ()) -> ReceivedEmail:
    """Read a mail, whatever its form.

    Args:
        own: the agent's names, by which quotes of its letters are known.
    """
    name, _ = parseaddr(_header(message, "from"))
    text, quoted = split_quotes(_text(message), own)
    return ReceivedEmail(
        message_id=_own_id(message),
        sender=sender_of(message),
        sender_name=printable_line(name, MAX_LINE_CHARS),
        subject=printable_line(_header(message, "subject"), MAX_LINE_CHARS).strip(),
        text=text,
        quoted=quoted,
        references=_references(message),
        files=tuple(_files(message)),
    )


def _text(message: EmailMessage) -> str:
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    content = _content(part)
    if part.get_content_type() == "text/html":
        content = _of_html(content[:MAX_HTML_CHARS])
    return printable_text(content, MAX_TEXT_CHARS)


def _of_html(content: str) -> str:
    """Return the text of a page, read in a process that ends in time whatever it is given."""
    from agent.system.programs import run_program  # noqa: PLC0415 - few letters need them
    from agent.tools import page_program  # noqa: PLC0415 - as above

    words = (sys.executable, "-I", "-S", page_program.__file__, "")
    try:
        done = run_program(words, HTML_TIMEOUT_S, content.encode("utf-8", "replace"))
        return str(json.loads(done.stdout)[1])
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return UNREADABLE


def _content(part: MIMEPart) -> str:
    try:
        is_known = is_charset(part.get_content_charset("ascii"))
        content = part.get_content() if is_known else _as_sent(part)
    except (LookupError, ValueError, KeyError, AssertionError):
        # An encoding that nobody knows, or that lies
        content = _as_sent(part)
    return content if isinstance(content, str) else ""


def _as_sent(part: MIMEPart) -> str:
    raw = part.get_payload(decode=True)
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else ""


def _files(message: EmailMessage) -> Iterator[EmailFile]:
    body = message.get_body(("plain", "html"))
    found = 0
    for part in message.walk():
        if part.is_multipart() or part is body or found >= MAX_FILES:
            continue
        if part.get_content_disposition() == "attachment" or part.get_filename():
            found += 1
            raw = part.get_payload(decode=True)
            name = printable_line(part.get_filename() or "", MAX_LINE_CHARS)
            yield EmailFile(name, part.get_content_type(), raw if isinstance(raw, bytes) else b"")


def _own_id(message: EmailMessage) -> str:
    found = _ID.search(_header(message, "message-id"))
    if found:
        return found[0]
    told = "\0".join(_header(message, name) for name in ("date", "from", "to", "subject"))
    return f"<{hashlib.sha256(told.encode('utf-8', 'replace')).hexdigest()[:32]}@without-id>"


def _references(message: EmailMessage) -> tuple[str, ...]:
    told = f"{_header(message, 'references')} {_header(message, 'in-reply-to')}"
    found = list(dict.fromkeys(_ID.findall(told)))
    # The first says which conversation it is, the last ones where in it
    return tuple(found[:1] + found[1:][-(MAX_REFERENCES - 1) :])


def _header(message: EmailMessage, name: str) -> str:
    return str(message.get(name, ""))


def command_in(subject: str, text: str, *, is_answer: bool) -> str:
    """Return the command of a letter, alone; empty if there is none.

    Args:
        text: the sender's own words.
        is_answer: its subject may only repeat that of an earlier letter.
    """
    lines = [" ".join(line.split()) for line in own_lines(text)[:MAX_LOOKED_LINES]]
    found = [line for at, line in enumerate(lines) if _is_command(line, is_first=at == 0)]
    title = " ".join(subject.split())
    is_title_said = not is_answer or not lines or _STOP.fullmatch(title) is not None
    if is_title_said and not (is_answer and found) and _is_command(title, is_first=True):
        found.append(title)
    return next((one for one in found if _is_estop(one)), found[0] if found else "")


def is_a_command(text: str) -> bool:
    """Return true if the text is a command and nothing else."""
    return _is_command(text, is_first=True)


def _is_command(line: str, *, is_first: bool) -> bool:
    form = _COMMAND if is_first else _ANYWHERE
    return len(line) <= MAX_COMMAND_CHARS and form.fullmatch(line) is not None


def _is_estop(command: str) -> bool:
    return command.lower().startswith("/estop") and _STOP.fullmatch(command) is not None
