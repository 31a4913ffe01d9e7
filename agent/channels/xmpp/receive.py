"""Receiver: first the archives since the last time, then new messages.

Only what was kept is acknowledged, and passed in the archive. The first time nothing that was said
before is answered.
"""

import asyncio
import logging
from collections import OrderedDict, defaultdict, deque
from functools import partial
from xml.etree.ElementTree import Element

from msgspec import Struct

from agent.channels.approvals import OpenApprovals
from agent.channels.base import Deliver, Pulse
from agent.channels.incoming_files import IncomingFile, IncomingFiles, unfetched
from agent.channels.received_files import Knows
from agent.channels.xmpp.archive import XmppArchive
from agent.channels.xmpp.connection import MAX_WAITING, XmppConnection, connected
from agent.channels.xmpp.files import XmppFiles
from agent.channels.xmpp.inbound import (
    NAME,
    XmppContext,
    is_for_us,
    is_group,
    is_new,
    understood,
)
from agent.channels.xmpp.login import XmppLogin
from agent.channels.xmpp.rooms import XmppRooms
from agent.channels.xmpp.send import XmppSender
from agent.channels.xmpp.stanzas import RECEIPTS, XmppMessage, bare, element, read_message
from agent.errors import ChannelUnavailable
from agent.messages import Inbound, Provenance
from agent.system.clock import Clock
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

# Two that are not answered and the agent knows that it is deaf
PING_EVERY_S = 30.0
# People who asked to see whether the agent is there, and are not known yet
MAX_PENDING = 500
# Who was told that encrypted words are not read
MAX_TOLD = 500
CANNOT_READ = (
    "Your message is encrypted with OMEMO, and I cannot read it. "
    "Please turn encryption off in this chat."
)


class XmppReceiverParts(Struct, frozen=True):
    """Parts that a message passes on its way in.

    Args:
        knows: whose files are fetched, and who may see whether the agent is there.
    """

    questions: OpenApprovals
    files: IncomingFiles
    fetching: XmppFiles
    knows: Knows
    rooms: tuple[str, ...]


class XmppReceiver:
    """Receiver of one account."""

    def __init__(
        self,
        login: XmppLogin,
        ears: XmppReceiverParts,
        sending: XmppSender,
        pulse: Pulse,
        clock: Clock,
    ) -> None:
        self._login = login
        self._ears = ears
        self._sending = sending
        self._position = sending.position
        self._pulse = pulse
        self._clock = clock
        self._pending: OrderedDict[str, None] = OrderedDict()
        self._told: OrderedDict[str, None] = OrderedDict()
        # Rooms of which something may be missing
        self._behind: set[str] = set()
        # By archive: what comes while it is read is in it, too, and no more can wait than this
        self._recent: dict[str, deque[str]] = {}

    async def run(self, deliver: Deliver) -> None:
        """Until cancelled.

        Raises:
            ChannelError: the server is not there, or does not take the account.
        """
        async with connected(self._login, self._pulse.beat) as connection:
            await self._position.load(connection.address)
            rooms = XmppRooms(connection, self._ears.rooms, connection.address.partition("@")[0])
            _log.info("xmpp: listening (account=%s)", connection.address)
            self._recent = defaultdict(partial(deque, maxlen=MAX_WAITING))
            # What was said by now is not answered where there was no agent yet
            await self._begin(connection, "")
            connection.attend = partial(self._attend, connection, rooms)
            connection.present()
            await rooms.enter()
            self._sending.connection, self._sending.rooms = connection, rooms
            try:
                await self._catch_up(connection, "", rooms, deliver)
                self._behind = {room.lower() for room in self._ears.rooms}
                await self._catch_up_rooms(connection, self._behind, rooms, deliver)
                await self._go_on(connection, rooms, deliver)
            finally:
                self._sending.connection = self._sending.rooms = None

    async def _begin(self, connection: XmppConnection, archive: str) -> None:
        if self._position.mark(archive) is None:
            if not archive:
                await XmppArchive(connection, archive).keep_all()
            last = await XmppArchive(connection, archive).last()
            if last is not None:
                await self._position.advance(archive, last, self._clock.wall_s())

    async def _catch_up(
        self, connection: XmppConnection, archive: str, rooms: XmppRooms, deliver: Deliver
    ) -> None:
        mark = self._position.mark(archive)
        if mark is None:
            await self._begin(connection, archive)
            return
        async for kept in XmppArchive(connection, archive).since(mark):
            if kept.archived not in self._recent[archive]:
                await self._take(connection, kept.message, rooms, deliver)
                self._recent[archive].append(kept.archived)
            await self._position.advance(archive, kept.archived, self._clock.wall_s())
            self._pulse.beat()

    async def _catch_up_rooms(
        self,
        connection: XmppConnection,
        behind: set[str],
        rooms: XmppRooms,
        deliver: Deliver,
    ) -> None:
        """Catch up with rooms; one whose server is away holds up nothing else."""
        for room in sorted(behind):
            try:
                await self._catch_up(connection, room, rooms, deliver)
            except ChannelUnavailable as err:
                connection.entrance.check()
                _log.warning("xmpp: room not caught up with yet (reason=%s)", err)
            else:
                self._behind.discard(room)

    async def _go_on(self, connection: XmppConnection, rooms: XmppRooms, deliver: Deliver) -> None:
        loop = asyncio.get_running_loop()
        look_at_s = loop.time() + PING_EVERY_S
        while True:
            told = await connection.next(max(0.0, look_at_s - loop.time()))
            if told is not None:
                await self._hear(connection, told, rooms, deliver)
                connection.keep()
            if loop.time() >= look_at_s:
                await connection.ping()
                await rooms.enter()
                there = {room for room in self._behind if rooms.is_in(room)}
                await self._catch_up_rooms(connection, there, rooms, deliver)
                look_at_s = loop.time() + PING_EVERY_S

    async def _hear(
        self, connection: XmppConnection, told: Element, rooms: XmppRooms, deliver: Deliver
    ) -> None:
        sender = bare(told.get("from", ""))
        archive = sender if sender in rooms else ""
        message = read_message(told, archive or connection.address)
        if message.archived in self._recent[archive]:
            return
        await self._take(connection, message, rooms, deliver)
        if message.archived:
            self._recent[archive].append(message.archived)
        is_caught_up = archive not in self._behind and self._position.mark(archive) is not None
        if message.archived and is_caught_up:
            await self._position.advance(archive, message.archived, self._clock.wall_s())

    async def _take(
        self, connection: XmppConnection, message: XmppMessage, rooms: XmppRooms, deliver: Deliver
    ) -> None:
        if message.is_encrypted and not is_group(message):
            self._cannot_read(connection, message)
            return
        if message.kind == "error":
            _log.warning("xmpp: message not delivered (to=%s)", printable_line(message.bare, 100))
        around = self._around(connection, message, rooms)
        if not is_new(message) or around is None:
            return
        inbound = understood(message, around, self._clock.wall_s())
        # An answer to a question in a room needs no name: it has the question's id
        is_answer = self._ears.questions.answer(inbound, has_files=bool(message.file))
        if is_answer or not is_for_us(message, around.nick):
            return
        inbound = await self._with_file(inbound, message.file)
        if inbound.text or inbound.attachments:
            await deliver(inbound)
            self._taken(connection, message, inbound)

    def _around(
        self, connection: XmppConnection, message: XmppMessage, rooms: XmppRooms
    ) -> XmppContext | None:
        if not is_group(message):
            is_ours = message.bare == connection.address or message.bare in rooms
            return None if is_ours or "@" not in message.bare else XmppContext(message.bare, "")
        if message.bare not in rooms or not message.nick:
            return None
        nick, person = rooms.nick(message.bare), rooms.person(message)
        if message.nick == nick or person == connection.address:
            return None
        if not person:
            _log.info("xmpp: room ignored, it hides who writes (room=%s)", message.bare)
            return None
        return XmppContext(person, nick)

    def _taken(self, connection: XmppConnection, message: XmppMessage, inbound: Inbound) -> None:
        """Confirm the arrival to a known person, and show our presence."""
        if is_group(message) or not self._ears.knows(inbound):
            return
        if message.wants_receipt and message.known:
            received = [element(RECEIPTS, "received", id=message.known)]
            connection.say(message.sender, "chat", f"r-{message.known}", received)
        if self._pending.pop(message.bare, self) is None:
            connection.present(message.bare, "subscribed")

    def _attend(self, connection: XmppConnection, rooms: XmppRooms, told: Element) -> None:
        rooms.take(told)
        self._asked_by(connection, told)

    def _asked_by(self, connection: XmppConnection, told: Element) -> None:
        """Let a stranger ask; the server asks again at the next login."""
        if told.get("type") != "subscribe":
            return
        sender = bare(told.get("from", ""))
        now_s = self._clock.wall_s()
        if self._ears.knows(Inbound("", NAME, sender, sender, "", now_s, Provenance.WEB)):
            connection.present(sender, "subscribed")
            return
        self._pending[sender] = None
        if len(self._pending) > MAX_PENDING:
            self._pending.popitem(last=False)

    def _cannot_read(self, connection: XmppConnection, message: XmppMessage) -> None:
        if message.bare == connection.address or message.bare in self._told:
            return
        self._told[message.bare] = None
        if len(self._told) > MAX_TOLD:
            self._told.popitem(last=False)
        _log.info(
            "xmpp: encrypted message not readable (from=%s)", printable_line(message.bare, 100)
        )
        self._sending.say(message.bare, CANNOT_READ)

    async def _with_file(self, inbound: Inbound, address: str) -> Inbound:
        if not address:
            return inbound
        if not self._ears.knows(inbound):
            # A stranger fills no disk
            return unfetched(inbound, ["a file"])
        fetch = partial(self._ears.fetching.fetch, address)
        return await self._ears.files.added_to(inbound, [IncomingFile("a file", fetch)])
