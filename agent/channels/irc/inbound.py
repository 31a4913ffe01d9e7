"""Conversion of IRC lines: sender, target, and if they call us.

A nick is nobody's proof. Whoever is logged in is known by the account, which the server says with
each line where it can; anybody else by nick, user and host together.
"""

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field
from msgspec.structs import replace

from agent.messages import Inbound, Provenance
from agent.text.charsets import decoded
from agent.text.printable import printable_line, printable_text

# With the line end, as every server takes them; tags are counted by themselves
MAX_LINE_BYTES = 512
MAX_TAGS_BYTES = 8191
_LINE = re.compile(
    r"(?:@(?P<tags>[^ ]*) +)?(?::(?P<source>[^ ]+) +)?(?P<command>[A-Za-z]+|[0-9]{3})(?P<rest> .*)?"
)
_ESCAPED = {":": ";", "s": " ", "\\": "\\", "r": "\r", "n": "\n"}
# What ends a line, or a string in a server written in C
_ENDS = re.compile(r"[\r\n\0]+")
# {}|^ are the lower case of []\~, as of 1993 in Finland
_FOLDED = str.maketrans("[]\\~", "{}|^")


class IrcLine(Struct, frozen=True):
    """Line of IRC; `command` in upper case, `source` is a server or nick!user@host."""

    command: str
    parameters: tuple[str, ...] = ()
    source: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def nick(self) -> str:
        return self.source.partition("!")[0]

    def parameter(self, number: int) -> str:
        """Return a parameter; empty if the line has fewer. -1 is the last."""
        return (
            self.parameters[number]
            if -len(self.parameters) <= number < len(self.parameters)
            else ""
        )


def read_line(raw: bytes) -> IrcLine | None:
    """Parse a line without its end; None if it is invalid."""
    # Some write in Windows' own characters still, and servers cut a line within one
    found = _LINE.fullmatch(decoded(raw, "ascii"))
    if found is None:
        return None
    return IrcLine(
        found["command"].upper(),
        _parameters(found["rest"] or ""),
        found["source"] or "",
        _tags(found["tags"] or ""),
    )


def write_line(command: str, *parameters: str) -> bytes:
    """Return the line with its end; only the last parameter may hold spaces.

    Raises:
        ValueError: a parameter before the last is none, or it would be too long.
    """
    *middle, last = [_ENDS.sub(" ", one) for one in parameters] or [""]
    if any(not one or " " in one or one.startswith(":") for one in middle):
        raise ValueError(f"a parameter of {command} is empty or holds a space")
    words = [command, *middle, *([f":{last}"] if parameters else [])]
    line = " ".join(words).encode("utf-8", "replace") + b"\r\n"
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"a line of {len(line)} bytes is longer than {MAX_LINE_BYTES}")
    return line


def folded(name: str) -> str:
    """Return a nick or channel as servers compare them."""
    return name.lower().translate(_FOLDED)


def _parameters(rest: str) -> tuple[str, ...]:
    middle, colon, last = rest.partition(" :")
    return (*(one for one in middle.split(" ") if one), *((last,) if colon else ()))


def _tags(raw: str) -> Mapping[str, str]:
    pairs = (tag.partition("=") for tag in raw.split(";") if tag)
    return {name: _unescaped(value) for name, _, value in pairs}


def _unescaped(value: str) -> str:
    return re.sub(r"\\(.?)", lambda found: _ESCAPED.get(found[1], found[1]), value, flags=re.DOTALL)


NAME = "irc"
# Before the name of an account, in the id of a sender
ACCOUNT = "account:"
MAX_SENDER_CHARS = 200
MAX_TEXT_CHARS = 1000
# What begins the name of a place that others read, where the server says nothing else
CHANNEL_SIGNS = "#&+!"
_CTCP = "\x01"
# Bold, colour, italics and the like
_STYLES = re.compile("\x03(?:[0-9]{1,2}(?:,[0-9]{1,2})?)?|[\x02\x0f\x11\x16\x1d\x1e\x1f]")
_OF_NICKS = r"[\w\[\]\\`^{}|-]"


class IrcInbound(Struct, frozen=True):
    """Message, and if it is meant for us in a group."""

    inbound: Inbound
    calls_us: bool


def understood(line: IrcLine, me: str, now_s: float, count: int) -> IrcInbound | None:
    """Return the message of a person; None if there is no person or no message.

    Args:
        me: our nick.
        count: of lines in this session, for what the server gives no id.
    """
    text = _said(line.parameter(1))
    if line.command != "PRIVMSG" or not line.nick or "!" not in line.source or not text:
        return None
    if folded(line.nick) == folded(me):
        return None
    is_group = line.parameter(0)[:1] in CHANNEL_SIGNS
    sent_at_s = _time(line.tags)
    heard = Inbound(
        message_id=_id(line, now_s, count),
        channel=NAME,
        sender=sender_of(line),
        reply_target=line.parameter(0) if is_group else line.nick,
        text=text,
        received_at_s=now_s,
        provenance=Provenance.WEB,
        is_group=is_group,
        sender_name=printable_line(line.nick, MAX_SENDER_CHARS),
        sent_at_s=sent_at_s,
    )
    called = without_name(text, me)
    return IrcInbound(heard if called is None else replace(heard, text=called), called is not None)


def sender_of(line: IrcLine) -> str:
    """Return the sender's account, or their mask without one."""
    account = line.tags.get("account", "")
    # No account has a sign of the other kind
    known = f"{ACCOUNT}{account}" if account else line.source
    return printable_line(known, MAX_SENDER_CHARS)


def without_name(text: str, me: str) -> str | None:
    """Return the text without our name before it; None if it does not call us."""
    name = re.escape(me)
    if found := re.match(rf"@?{name}\s*[:,]\s*(?=\S)|@{name}\s+(?=\S)", text, re.IGNORECASE):
        return text[found.end() :]
    alone = rf"(?<!{_OF_NICKS}){name}(?!{_OF_NICKS})"
    return text if re.search(alone, text, re.IGNORECASE) else None


def _said(raw: str) -> str:
    """Return the text without formatting; actions are told in words."""
    if raw.startswith(_CTCP):
        command, _, rest = raw.strip(_CTCP).partition(" ")
        raw = f"/me {rest}" if command.upper() == "ACTION" and rest else ""
    return printable_text(_STYLES.sub("", raw), MAX_TEXT_CHARS).strip()


def _id(line: IrcLine, now_s: float, count: int) -> str:
    """Return the server's id, or one made from content and time, so that replays are known."""
    if given := line.tags.get("msgid", ""):
        return printable_line(given, MAX_SENDER_CHARS)
    when = line.tags.get("time", "") or f"{now_s} {count}"
    told = "\0".join((when, line.source, *line.parameters))
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:32]


def _time(tags: Mapping[str, str]) -> float | None:
    try:
        return datetime.fromisoformat(tags["time"]).timestamp()
    except (KeyError, ValueError, OverflowError):
        return None
