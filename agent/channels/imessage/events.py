"""Messages from a BlueBubbles server, and which of them a person wrote to us.

Who wrote is known by the address that Apple vouches for: what came as SMS or RCS can be written
in anybody's name, and is not heard. Tapbacks, edits and news of a group are no messages.
"""

import re

from msgspec import Struct, field
from msgspec.structs import replace

from agent.channels.urgency import is_for_everybody
from agent.messages import Inbound, Provenance
from agent.text.printable import printable_line, printable_text

NAME = "imessage"
# By which people call it in a group, where others are spoken to as well
CALLED = "barnacle"
MAX_TEXT_CHARS = 20_000
MAX_ID_CHARS = 200
# Of the tables in the Mac's own database
GROUP_STYLE = 43
_IMESSAGE = "imessage"
_PLACEHOLDERS = "\ufffc\ufffd"
_BEFORE = re.compile(rf"@?{CALLED}\s*[:,]\s*(?=\S)|@{CALLED}\s+(?=\S)", re.IGNORECASE)
_ANYWHERE = re.compile(rf"(?<!\w){CALLED}(?!\w)", re.IGNORECASE)
_ID = re.compile(r"[\x21-\x7e]{1,200}")


class BlueBubblesInfo(Struct, frozen=True):
    """Description of the server, from `/server/info`."""

    server_version: str = ""
    os_version: str = ""
    private_api: bool | None = None
    helper_connected: bool | None = None
    detected_imessage: str | None = None
    detected_icloud: str | None = None

    @property
    def method(self) -> str:
        """Way of sending: Apple's private interface if it is there."""
        return "private-api" if self.private_api and self.helper_connected else "apple-script"


class ImessageHandle(Struct, frozen=True):
    """Person, by one of the services of Messages."""

    address: str = ""
    service: str = ""


class ImessageChat(Struct, frozen=True):
    """Chat of a message."""

    guid: str = ""
    style: int = 0


class ImessageFile(Struct, frozen=True, rename="camel"):
    """File of a message."""

    guid: str = ""
    mime_type: str | None = None
    name: str | None = field(name="transferName", default=None)
    total_bytes: int | None = None


class ImessageSent(Struct, frozen=True):
    """Sent message, as the Mac has it."""

    guid: str = ""
    row: int = field(name="originalROWID", default=0)


class ImessageMessage(Struct, frozen=True, rename="camel"):
    """Row of the Mac's messages, as far as it is used."""

    guid: str
    row: int = field(name="originalROWID")
    text: str | None = None
    subject: str | None = None
    handle: ImessageHandle | None = None
    chats: tuple[ImessageChat, ...] = ()
    attachments: tuple[ImessageFile, ...] = ()
    date_created: int | None = None
    is_from_me: bool = False
    item_type: int | None = 0
    group_action_type: int | None = 0
    associated_message_guid: str | None = None
    is_auto_reply: bool | None = False
    # None where the Mac does not tell
    is_audio_message: bool | None = None
    error: int | None = 0
    date_retracted: int | None = None

    @property
    def at_ms(self) -> int:
        return self.date_created or 0

    @property
    def is_of_a_person(self) -> bool:
        """True if another person wrote it."""
        is_news = self.item_type or self.group_action_type or self.associated_message_guid
        return not (self.is_from_me or is_news or self.is_auto_reply or self.date_retracted)

    @property
    def words(self) -> str:
        """Words of the message, without the signs that stand for files."""
        told = "\n".join(one for one in (self.subject, self.text) if one)
        for sign in _PLACEHOLDERS:
            told = told.replace(sign, "")
        return printable_text(told, MAX_TEXT_CHARS).strip()


class ImessageInbound(Struct, frozen=True):
    """Message, and if it is meant for us in a group."""

    inbound: Inbound
    calls_us: bool


def understood(message: ImessageMessage, now_s: float) -> ImessageInbound | None:
    """Convert the message, without its files; None if nobody speaks to the agent."""
    handle, chat = message.handle, next(iter(message.chats), ImessageChat())
    if not message.is_of_a_person or handle is None or handle.service.lower() != _IMESSAGE:
        return None
    ids = (message.guid, handle.address, chat.guid)
    if not all(_ID.fullmatch(one) for one in ids) or not (message.words or message.attachments):
        return None
    inbound = Inbound(
        message_id=message.guid,
        channel=NAME,
        sender=handle.address.lower(),
        reply_target=chat.guid,
        text=message.words,
        received_at_s=now_s,
        provenance=Provenance.WEB,
        is_group=chat.style == GROUP_STYLE,
        sender_name=printable_line(handle.address, MAX_ID_CHARS),
        sent_at_s=message.at_ms / 1000 if message.at_ms > 0 else None,
    )
    if not inbound.is_group:
        return ImessageInbound(inbound, calls_us=True)
    called = _BEFORE.match(inbound.text)
    without = inbound.text[called.end() :] if called else inbound.text
    is_called = called is not None or _ANYWHERE.search(inbound.text) is not None
    is_called = is_called or is_for_everybody(inbound.text)
    return ImessageInbound(replace(inbound, text=without), is_called)
