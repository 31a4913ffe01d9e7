"""Reader of mails: who wrote it, and the sender's own words without quotes.

Every byte of it is hostile: what is read is capped, and what cannot be read is said.
"""

import hashlib
import re
from collections.abc import Sequence
from email.message import EmailMessage
from email.utils import parseaddr

from msgspec import Struct

from agent.channels.email.bulk import LetterBulk
from agent.channels.email.contents import EmailFile, files_of, is_sealed, text_of
from agent.channels.email.quotes import split_quotes
from agent.text.printable import printable_line

MAX_LINE_CHARS = 400
MAX_REFERENCES = 20
# An address as RFC 5321 bounds it, without what only exists to confuse
_ADDRESS = re.compile(
    r"[^\s@<>\"(),:;\\\[\]]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?"
)
_ID = re.compile(r"<[^<>\s]{1,250}>")
# As mail programs put it before the subject of what they pass on, in the languages of this house
_FORWARD = re.compile(
    r"(?P<answer>(?:re|aw|sv|antw)\s*:\s*)*\[?(?:fwd?|wg|tr|rv|i|enc|vs|doorst|pd|转发|轉寄)\s*[:：]",
    re.IGNORECASE,
)
_MACHINES = re.compile(
    r"(mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?)([+@-]|\Z)", re.IGNORECASE
)
_TO_MANY = frozenset({"bulk", "list", "junk"})


class ReceivedEmail(Struct, frozen=True):
    """Mail, parsed.

    Args:
        sender: the address in From, in lower case; whether it is true is not said here.
        references: ids of the letters before it, the first one first.
        quoted: what it repeats of them.
        is_sealed: its content can be read with a key alone.
        answers_ours: the letter before it is one of the agent's.
    """

    message_id: str
    sender: str
    sender_name: str
    subject: str
    text: str
    quoted: str
    references: tuple[str, ...]
    files: tuple[EmailFile, ...]
    is_sealed: bool = False
    answers_ours: bool = False

    @property
    def is_answer(self) -> bool:
        return bool(self.references)

    @property
    def is_forwarded(self) -> bool:
        """Return true if the subject says that somebody else wrote the content.

        What answers a letter of ours has the sender's own words, whatever the thread began with.
        """
        found = _FORWARD.match(self.subject)
        return found is not None and not (self.answers_ours and found["answer"])

    @property
    def domain(self) -> str:
        return self.sender.rpartition("@")[2]


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


def read_letter(
    message: EmailMessage, own: Sequence[str] = (), bulk: LetterBulk | None = None
) -> ReceivedEmail:
    """Read a mail, whatever its form.

    Args:
        own: the agent's names, by which quotes of its letters are known.
        bulk: what was taken out of it before it was parsed.
    """
    bulk = bulk or LetterBulk(b"")
    name, _ = parseaddr(_header(message, "from"))
    every = text_of(message, bulk)
    text, quoted = split_quotes(every, own)
    references = _references(message)
    return ReceivedEmail(
        message_id=_own_id(message),
        sender=sender_of(message),
        sender_name=printable_line(name, MAX_LINE_CHARS),
        subject=printable_line(_header(message, "subject"), MAX_LINE_CHARS).strip(),
        text=text,
        quoted=quoted,
        references=references,
        files=tuple(files_of(message, bulk)),
        is_sealed=is_sealed(message, every),
        answers_ours=bool(references) and _is_ours(references[-1], own),
    )


def _is_ours(known: str, own: Sequence[str]) -> bool:
    hosts = {name.rpartition("@")[2] for name in own if "@" in name}
    return known.startswith("<barnacle.") and known[:-1].rpartition("@")[2] in hosts


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
