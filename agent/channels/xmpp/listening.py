"""Arrivals: first the archives' content since the last time, then new messages.

Only what was kept is acknowledged, and passed in the archive. The first time nothing that was said
before is answered.
"""

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import partial
from xml.etree.ElementTree import Element

from agent.channels.answers import OpenQuestions
from agent.channels.base import Deliver, Pulse
from agent.channels.incoming import Coming, IncomingFiles
from agent.channels.keeping import Knows
from agent.channels.xmpp.archive import Archive
from agent.channels.xmpp.connection import Connection, connected
from agent.channels.xmpp.files import Files
from agent.channels.xmpp.login import Login
from agent.channels.xmpp.rooms import Rooms
from agent.channels.xmpp.sending import Sending
from agent.channels.xmpp.stanzas import RECEIPTS, Message, bare, element, read_message
from agent.channels.xmpp.understanding import (
    NAME,
    Around,
    is_for_us,
    is_group,
    is_new,
    understood,
)
from agent.clock import Clock
from agent.messages import Attachment, Inbound, Provenance
from agent.printable import printable_line

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


@dataclass(frozen=True, slots=True)
class Ears:
    """Receivers of an arrival.

    Args:
        knows: whose files are fetched, and who may see whether the agent is there.
    """

    questions: OpenQuestions
    files: IncomingFiles
    fetching: Files
    knows: Knows
    rooms: tuple[str, ...]


class Listening:
    """Listens for one account."""

    def __init__(
        self, login: Login, ears: Ears, sending: Sending, pulse: Pulse, clock: Clock
    ) -> None:
        self._login = login
        self._ears = ears
        self._sending = sending
        self._position = sending.position
        self._pulse = pulse
        self._clock = clock
        self._pending: OrderedDict[str, None] = OrderedDict()
        self._told: OrderedDict[str, None] = OrderedDict()

    async def run(self, deliver: Deliver) -> None:
        """Until cancelled.

        Raises:
            ChannelError: the server is not there, or does not take the account.
        """
        async with connected(self._login, self._pulse.beat) as connection:
            await self._position.load(connection.address)
            rooms = Rooms(connection, self._ears.rooms, connection.address.partition("@")[0])
            _log.info("listening to XMPP as %s", connection.address)
            # What was said by now is not answered where there was no agent yet
            await self._begin(connection, "")
            connection.attend = partial(self._attend, connection, rooms)
            connection.present()
            await rooms.enter()
            self._sending.connection, self._sending.rooms = connection, rooms
            try:
                await self._catch_up(connection, "", rooms, deliver)
                for room in self._ears.rooms:
                    await self._catch_up(connection, room.lower(), rooms, deliver)
                await self._go_on(connection, rooms, deliver)
            finally:
                self._sending.connection = self._sending.rooms = None

    async def _begin(self, connection: Connection, archive: str) -> None:
        if self._position.mark(archive) is None:
            if not archive:
                await Archive(connection, archive).keep_all()
            last = await Archive(connection, archive).last()
            if last is not None:
                await self._position.advance(archive, last, self._clock.wall_s())

    async def _catch_up(
        self, connection: Connection, archive: str, rooms: Rooms, deliver: Deliver
    ) -> None:
        mark = self._position.mark(archive)
        if mark is None:
            await self._begin(connection, archive)
            return
        async for kept in Archive(connection, archive).since(mark):
            await self._take(connection, kept.message, rooms, deliver)
            await self._position.advance(archive, kept.archived, self._clock.wall_s())
            self._pulse.beat()

    async def _go_on(self, connection: Connection, rooms: Rooms, deliver: Deliver) -> None:
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
                look_at_s = loop.time() + PING_EVERY_S

    async def _hear(
        self, connection: Connection, told: Element, rooms: Rooms, deliver: Deliver
    ) -> None:
        sender = bare(told.get("from", ""))
        archive = sender if sender in rooms else ""
        message = read_message(told, archive or connection.address)
        await self._take(connection, message, rooms, deliver)
        if message.archived and self._position.mark(archive) is not None:
            await self._position.advance(archive, message.archived, self._clock.wall_s())

    async def _take(
        self, connection: Connection, message: Message, rooms: Rooms, deliver: Deliver
    ) -> None:
        if message.is_encrypted and not is_group(message):
            self._cannot_read(connection, message)
            return
        if message.kind == "error":
            _log.warning("%s did not get a message", printable_line(message.bare, 100))
        around = self._around(connection, message, rooms)
        if not is_new(message) or around is None:
            return
        inbound = understood(message, around, self._clock.wall_s())
        # An answer to a question in a room needs no name: it has the question's id
        if self._ears.questions.answer(inbound) or not is_for_us(message, around.nick):
            return
        inbound = await self._with_file(inbound, message.file)
        if inbound.text or inbound.attachments:
            await deliver(inbound)
            self._taken(connection, message, inbound)

    def _around(self, connection: Connection, message: Message, rooms: Rooms) -> Around | None:
        if not is_group(message):
            is_ours = message.bare == connection.address or message.bare in rooms
            return None if is_ours or "@" not in message.bare else Around(message.bare, "")
        if message.bare not in rooms or not message.nick:
            return None
        nick, person = rooms.nick(message.bare), rooms.person(message)
        if message.nick == nick or person == connection.address:
            return None
        if not person:
            _log.info("nobody is heard in %s: it does not tell who they are", message.bare)
            return None
        return Around(person, nick)

    def _taken(self, connection: Connection, message: Message, inbound: Inbound) -> None:
        """Confirm to a known person that it came, and show the agent's presence."""
        if is_group(message) or not self._ears.knows(inbound):
            return
        if message.wants_receipt and message.known:
            received = [element(RECEIPTS, "received", id=message.known)]
            connection.say(message.sender, "chat", f"r-{message.known}", received)
        if self._pending.pop(message.bare, self) is None:
            connection.present(message.bare, "subscribed")

    def _attend(self, connection: Connection, rooms: Rooms, told: Element) -> None:
        rooms.take(told)
        self._asked_by(connection, told)

    def _asked_by(self, connection: Connection, told: Element) -> None:
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

    def _cannot_read(self, connection: Connection, message: Message) -> None:
        if message.bare == connection.address or message.bare in self._told:
            return
        self._told[message.bare] = None
        if len(self._told) > MAX_TOLD:
            self._told.popitem(last=False)
        _log.info("%s writes encrypted", printable_line(message.bare, 100))
        self._sending.say(message.bare, CANNOT_READ)

    async def _with_file(self, inbound: Inbound, address: str) -> Inbound:
        if not address:
            return inbound
        if not self._ears.knows(inbound):
            # A stranger fills no disk
            text = "\n".join(line for line in (inbound.text, "[a file, not fetched]") if line)
            return replace(inbound, text=text)
        fetch = partial(self._ears.fetching.fetch, address)
        return await self._ears.files.added_to(inbound, [Coming("a file", fetch, _is_speech)])


def _is_speech(kept: Attachment) -> bool:
    return kept.media_type.startswith("audio/")
