"""Sender of answers to XMPP: the draft becomes the answer, and no try shows twice."""

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from agent.channels.delivery_steps import DeliverySteps, unsendable
from agent.channels.drafts import AnswerDraft, Drafts
from agent.channels.received_files import ReceivedFiles
from agent.channels.xmpp.archive import XmppArchive
from agent.channels.xmpp.connection import Kind, XmppConnection
from agent.channels.xmpp.cursor import XmppCursor
from agent.channels.xmpp.files import XmppFiles
from agent.channels.xmpp.inbound import about
from agent.channels.xmpp.stanzas import (
    CLIENT,
    CORRECTION,
    HINTS,
    OOB,
    REPLY,
    STATES,
    STYLING,
    element,
    within,
)
from agent.errors import ChannelUnavailable, MessageRefused
from agent.messages import Attachment, Outbound
from agent.net.http import HttpClient
from agent.system.clock import Clock

if TYPE_CHECKING:
    from agent.channels.xmpp.rooms import XmppRooms

# Stanzas of any server are longer, and telephones show it on some pages
MAX_PART_BYTES = 8000
# Servers give a person ten kilobytes a second
INTERVAL_S = 3.0
MAX_FILE_BYTES = 100 * 1024 * 1024
# Messages of which it is not known whether they arrived
MAX_UNCERTAIN = 1000


class XmppSender:
    """Sender of messages, in the order of the calls, over the receiver's connection."""

    def __init__(
        self,
        groups: Sequence[str],
        http: HttpClient,
        keeping: ReceivedFiles,
        position: XmppCursor,
        clock: Clock,
    ) -> None:
        # Of who listens, while it does
        self.connection: XmppConnection | None = None
        self.rooms: XmppRooms | None = None
        self.position = position
        self.files = XmppFiles(http, keeping, self)
        self.drafts = XmppDrafts(self, position.folder, clock)
        self._groups = frozenset(one.lower() for one in groups)
        self._unfinished = DeliverySteps()
        # Chats in which the last run of the agent may have left something
        self._looked_at: set[str] = set()
        self._uncertain: set[str] = set()

    def is_group(self, target: str) -> bool:
        return target in self._groups

    async def send(self, message: Outbound) -> None:
        """Return when the server has all of it.

        Raises:
            ChannelError: it has not.
        """
        self.open()
        await self._unfinished.go_on(message, self._say, self._give)

    def open(self) -> XmppConnection:
        if self.connection is None:
            raise ChannelUnavailable("not connected to the XMPP server")
        return self.connection

    def say(self, to: str, text: str, *more: Element) -> str:
        """Send a text without waiting, and return its id."""
        known = secrets.token_hex(8)
        self.open().say(to, self._kind(to), known, [*_words(text), *more])
        return known

    def show(self, to: str, shown: Element, *, is_kept: bool = False) -> None:
        """Send something that is no text and that nobody waits for."""
        hint = element(HINTS, "store" if is_kept else "no-store")
        self.open().say(to, self._kind(to), secrets.token_hex(8), [shown, hint])

    async def _say(self, message: Outbound) -> None:
        is_first, more = message.part == 0, []
        if is_first and (shown := await self.drafts.end(message)):
            more.append(element(CORRECTION, "replace", id=shown))
        elif is_first and self.is_group(message.recipient):
            answered = about(message.in_reply_to, in_group=True)
            if answered:
                more.append(element(REPLY, "reply", id=answered))
        await self._deliver(message, self._known(message), [*_words(message.text), *more])
        if is_first:
            self.drafts.forget(message)

    async def _give(self, message: Outbound, file: Attachment) -> None:
        known = f"{self._known(message)}-{message.files.index(file)}"
        if trouble := unsendable(file, MAX_FILE_BYTES, "go over XMPP from here"):
            await self._deliver(message, known, _words(trouble))
            return
        try:
            address = await self.files.give(file)
        except MessageRefused as err:
            trouble = f"({file.name or 'A file'} could not go with this: {err}.)"
            await self._deliver(message, known, _words(trouble))
            return
        link = within(element(OOB, "x"), [element(OOB, "url", address)])
        await self._deliver(message, known, [element(CLIENT, "body", address), link])

    async def _deliver(self, message: Outbound, known: str, children: list[Element]) -> None:
        to, connection = message.recipient, self.open()
        if self.rooms is not None and self.is_group(to) and not self.rooms.is_in(to):
            raise ChannelUnavailable(f"not in the room {to} for now")
        if await self._stands(connection, to, known):
            return
        self._uncertain.add(known)
        if len(self._uncertain) > MAX_UNCERTAIN:
            self._uncertain.pop()
        await connection.deliver(to, self._kind(to), known, children)
        self._uncertain.discard(known)

    async def _stands(self, connection: XmppConnection, to: str, known: str) -> bool:
        """Return true if an earlier try has arrived after all."""
        if to in self._looked_at and known not in self._uncertain:
            return False
        archive = XmppArchive(connection, to if self.is_group(to) else "")
        found = await archive.has(known, "" if self.is_group(to) else to)
        self._looked_at.add(to)
        return found

    def _known(self, message: Outbound) -> str:
        """Return the name of a message in every try; unkept messages have none."""
        number = message.outbox_id or secrets.token_hex(8)
        return f"barnacle-{self.position.series}-{number}-{message.part}"

    def _kind(self, to: str) -> Kind:
        return "groupchat" if self.is_group(to) else "chat"


class XmppDrafts(Drafts):
    """Drafts as messages that are corrected; only in private.

    Rooms have people whose programs show each correction as one more message.
    """

    first_s = 1.0

    def __init__(self, sending: XmppSender, folder: Path, clock: Clock) -> None:
        super().__init__(folder, clock)
        self._sending = sending

    def _interval_s(self, draft: AnswerDraft) -> float:
        return INTERVAL_S

    async def _put(self, draft: AnswerDraft, text: str) -> None:
        target, words = draft.inbound.reply_target, first_part(text)
        # Kept nowhere: only what it becomes is
        nowhere = element(HINTS, "no-store")
        if draft.message_id:
            replaced = element(CORRECTION, "replace", id=draft.message_id)
            self._sending.say(target, words, replaced, nowhere)
            return
        draft.message_id = self._sending.say(target, words, nowhere)


def parts(markdown: str) -> tuple[str, ...]:
    from agent.channels.render.splitter import split  # noqa: PLC0415 - no start needs them
    from agent.channels.render.styled import utf8_bytes  # noqa: PLC0415 - as above

    return split(markdown, MAX_PART_BYTES, utf8_bytes)


def first_part(markdown: str) -> str:
    """Return as much of a draft as one message shows."""
    return parts(markdown[: 2 * MAX_PART_BYTES])[0]


def _words(markdown: str) -> list[Element]:
    """Return a body that no program styles."""
    from agent.channels.render.plain import to_plain  # noqa: PLC0415 - an answer needs it, no start

    words = element(CLIENT, "body", to_plain(markdown))
    return [words, element(STYLING, "unstyled"), element(STATES, "active")]
