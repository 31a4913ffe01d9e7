"""Lines of a topic's stream, and the messages in them."""

import re

import msgspec

from agent.errors import ChannelUnavailable
from agent.messages import Inbound, Provenance
from agent.text.printable import printable_line

NAME = "ntfy"
# What we write ourselves carries it: topics have no writers. Whoever else uses it is not heard
OWN_TAG = "robot"
# A message has 4096 bytes; with its buttons and file a line is far shorter than this
MAX_LINE_BYTES = 128 * 1024
MAX_TITLE_CHARS = 250
_ID = re.compile(r"[-_A-Za-z0-9]{1,64}")


class NtfyFile(msgspec.Struct, frozen=True):
    """File of a message; size and type only if it is on this server."""

    name: str = ""
    url: str = ""
    type: str = ""
    size: int = 0


class NtfyEvent(msgspec.Struct, frozen=True):
    """Line of the stream; only the kind `message` was written by somebody."""

    id: str = ""
    time: int = 0
    event: str = ""
    message: str = ""
    title: str = ""
    encoding: str = ""
    tags: tuple[str, ...] = ()
    attachment: NtfyFile | None = None

    @property
    def is_message(self) -> bool:
        """True if somebody else has written it, as text."""
        is_text = self.event == "message" and not self.encoding
        return is_text and OWN_TAG not in self.tags and _ID.fullmatch(self.id) is not None

    @property
    def place(self) -> str:
        """Position after this message, for the next request."""
        if self.event == "message" and _ID.fullmatch(self.id):
            return self.id
        return str(self.time) if self.event == "open" and self.time > 0 else ""


class NtfyEventLines:
    """Splitter of one stream."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> list[NtfyEvent]:
        """Return the events that `piece` completed; invalid lines are skipped.

        Raises:
            ChannelUnavailable: a line has no end.
        """
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) > MAX_LINE_BYTES:
            raise ChannelUnavailable("ntfy sent a line that is too long")
        return [event for line in lines if (event := read(line)) is not None]


def read(line: bytes) -> NtfyEvent | None:
    try:
        return msgspec.json.decode(line, type=NtfyEvent)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def inbound_of(event: NtfyEvent, topic: str, now_s: float) -> Inbound:
    """Convert the message; everybody who writes to the topic is the same sender."""
    title = printable_line(event.title, MAX_TITLE_CHARS)
    return Inbound(
        message_id=event.id,
        channel=NAME,
        sender=topic,
        reply_target=topic,
        text=f"{title}\n{event.message}".strip(),
        received_at_s=now_s,
        provenance=Provenance.WEB,
        sent_at_s=float(event.time) if event.time > 0 else None,
    )
