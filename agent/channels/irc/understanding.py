"""Meaning of a line: sender, target, and if it calls us.

A nick is nobody's proof. Whoever is logged in is known by the account, which the server says with
each line where it can; anybody else by nick, user and host together.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from agent.channels.irc.wire import Line, folded
from agent.messages import Inbound, Provenance
from agent.printable import printable_line, printable_text

NAME = "irc"
MAX_SENDER_CHARS = 200
MAX_TEXT_CHARS = 1000
# What begins the name of a place that others read, where the server says nothing else
CHANNEL_SIGNS = "#&+!"
_CTCP = "\x01"
# Bold, colour, italics and the like
_STYLES = re.compile("\x03(?:[0-9]{1,2}(?:,[0-9]{1,2})?)?|[\x02\x0f\x11\x16\x1d\x1e\x1f]")
_OF_NICKS = r"[\w\[\]\\`^{}|-]"


@dataclass(frozen=True, slots=True)
class Heard:
    """A message, and whether it is for us where others read along."""

    inbound: Inbound
    calls_us: bool


def understood(line: Line, me: str, now_s: float, count: int) -> Heard | None:
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
    return Heard(heard if called is None else replace(heard, text=called), called is not None)


def sender_of(line: Line) -> str:
    """The account that somebody is logged in to, or all that is known of them."""
    account = line.tags.get("account", "")
    # No account has a sign of the other kind
    known = f"account:{account}" if account else line.source
    return printable_line(known, MAX_SENDER_CHARS)


def without_name(text: str, me: str) -> str | None:
    """Return the text without our name before it; None if it does not call us."""
    name = re.escape(me)
    if found := re.match(rf"@?{name}\s*[:,]\s*(?=\S)|@{name}\s+(?=\S)", text, re.IGNORECASE):
        return text[found.end() :]
    alone = rf"(?<!{_OF_NICKS}){name}(?!{_OF_NICKS})"
    return text if re.search(alone, text, re.IGNORECASE) else None


def _said(raw: str) -> str:
    """The text, with what only shows it differently taken out; what people do is told."""
    if raw.startswith(_CTCP):
        command, _, rest = raw.strip(_CTCP).partition(" ")
        raw = f"/me {rest}" if command.upper() == "ACTION" and rest else ""
    return printable_text(_STYLES.sub("", raw), MAX_TEXT_CHARS).strip()


def _id(line: Line, now_s: float, count: int) -> str:
    """The server's own; or of what it says and when, so that what is played back is known."""
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
