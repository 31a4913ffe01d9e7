"""Session with the server: its messages in order, questions to it, and confirmations.

Nothing is resumed when it is lost: what was missed is in the archive, and what was not kept was
not acknowledged.
"""

import asyncio
import contextlib
import secrets
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from xml.etree.ElementTree import Element

from agent.channels.xmpp.confirmations import UnconfirmedMessages, refusal
from agent.channels.xmpp.login import XmppLogin
from agent.channels.xmpp.session import XmppEntrance
from agent.channels.xmpp.stanzas import (
    ARCHIVE,
    CORRECTION,
    REACTIONS,
    RECEIPTS,
    REPLY,
    STATES,
    element,
    host_of,
)
from agent.errors import ChannelUnavailable, MessageRefused
from agent.text.printable import printable_line

if TYPE_CHECKING:
    from slixmpp.stanza import Iq
    from slixmpp.xmlstream import StanzaBase

# A server answers at once; one that asks another server takes longer
ANSWER_TIMEOUT_S = 15.0
# Until a server says that it has a message, or a room has shown it to all
CONFIRM_TIMEOUT_S = 20.0
# More that waits comes again, by the archive
MAX_WAITING = 1000
MAX_ADDRESS_CHARS = 100
_MANAGEMENT = "urn:xmpp:sm:3"
_PING = "urn:xmpp:ping"
_FEATURES = (RECEIPTS, STATES, CORRECTION, REACTIONS, REPLY)

Kind = Literal["chat", "groupchat"]
T = TypeVar("T")


class XmppConnection:
    """Session with the server; made by `connected`.

    Args:
        beat: says that the server was heard.
    """

    def __init__(self, login: XmppLogin, beat: Callable[[], None]) -> None:
        # 40 ms, 140 modules and 8 MB, where it is used
        from agent.channels.xmpp.client import XmppClient  # noqa: PLC0415 - as just said

        resource = f"barnacle-{secrets.token_hex(4)}"
        self._client = XmppClient(login, resource, self._hear, beat)
        self._client.support(_FEATURES)
        self._client.add_event_handler("stanza_acked", self._acknowledged)
        self.entrance = XmppEntrance(self._client, login)
        self._come: deque[Element] = deque()
        self._has_come = asyncio.Event()
        self._unconfirmed = UnconfirmedMessages()
        # Of archives, by what was asked
        self._results: dict[str, list[Element]] = {}
        # Told of each presence as it comes: nothing is lost with one
        self.attend: Callable[[Element], None] = lambda _told: None

    @property
    def address(self) -> str:
        """Return our address without a resource, as the server writes it."""
        return str(self._client.boundjid.bare)

    @property
    def host(self) -> str:
        return host_of(self.address)

    async def next(self, limit_s: float) -> Element | None:
        """Return the next message, the same until `keep`; None if none came.

        Raises:
            ChannelUnavailable: the connection is lost.
        """
        if not self._come:
            self._has_come.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limit_s):
                    await self._until(asyncio.ensure_future(self._has_come.wait()))
        return self._come[0] if self._come else None

    def keep(self) -> None:
        """Acknowledge the message of `next`, which is committed."""
        self._come.popleft()
        self._client.kept()

    async def ask(self, kind: Literal["get", "set"], to: str, payload: Element) -> Element:
        """Return the answer of the server, or of somebody else.

        Raises:
            XmppRefused: it says no.
            ChannelUnavailable: it does not answer.
        """
        from slixmpp.exceptions import IqError, IqTimeout  # noqa: PLC0415 - loaded by now

        self.entrance.check()
        made = self._client.make_iq(ito=to or None, itype=kind)
        made.xml.append(payload)
        answer: asyncio.Future[Iq] = made.send(timeout=ANSWER_TIMEOUT_S)  # type: ignore[no-untyped-call]  # theirs
        # There may be nobody who waits for it any more
        answer.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        try:
            told: Element = (await self._until(answer)).xml
        except IqError as err:
            raise refusal(err.iq.xml, to or self.host) from err
        except IqTimeout as err:
            raise ChannelUnavailable(f"{to or self.host} did not answer in time") from err
        return told

    def wish(self, to: str, payload: Element) -> None:
        """Ask for a change, and wait for no answer."""
        self.entrance.check()
        made = self._client.make_iq(ito=to, itype="set")
        made.xml.append(payload)
        answer: asyncio.Future[Iq] = made.send(timeout=ANSWER_TIMEOUT_S)  # type: ignore[no-untyped-call]  # theirs
        answer.add_done_callback(lambda ended: ended.cancelled() or ended.exception())

    async def ping(self, to: str = "") -> None:
        await self.ask("get", to or self.host, element(_PING, "ping"))

    async def page(self, archive: str, query: Element) -> tuple[Element, list[Element]]:
        """Return an archive's answer, and the results that it sent before that."""
        name = secrets.token_hex(8)
        query.set("queryid", name)
        self._results[name] = []
        try:
            ended = await self.ask("set", archive, query)
        finally:
            found = self._results.pop(name)
        # Others may have told us results that they made up
        own = archive or self.address
        ours = [one for one in found if one.get("from", self.address) == own]
        return ended, [one for each in ours for one in each.findall(f"{{{ARCHIVE}}}result")]

    def say(self, to: str, kind: Kind, known: str, children: Sequence[Element]) -> None:
        """Send without waiting for the arrival."""
        self.entrance.check()
        try:
            made = self._client.make_message(to, mtype=kind)
        except ValueError as err:
            shown = printable_line(to, MAX_ADDRESS_CHARS)
            raise MessageRefused(f"{shown} is not an XMPP address") from err
        made.set_id(known)
        made.xml.extend(children)
        made.send()

    async def deliver(self, to: str, kind: Kind, known: str, children: Sequence[Element]) -> None:
        """Send; return when the server, or the room, has it.

        Raises:
            XmppRefused: it does not take it.
            ChannelUnavailable: it did not say that it has it, though it may.
        """
        confirmed = self._unconfirmed.expect(known, to, is_to_room=kind == "groupchat")
        try:
            self.say(to, kind, known, children)
            async with asyncio.timeout(CONFIRM_TIMEOUT_S):
                if self._client.management.enabled_out:
                    self._client.send(f"<r xmlns='{_MANAGEMENT}'/>", use_filters=False)
                elif kind == "chat":
                    # It takes what we say in order
                    await self.ping()
                    self._unconfirmed.acknowledged(known)
                await self._until(confirmed)
        except TimeoutError as err:
            raise ChannelUnavailable(f"{to} did not confirm a message") from err
        finally:
            self._unconfirmed.forget(known)

    def present(
        self,
        to: str = "",
        kind: Literal["subscribed"] | None = None,
        children: Sequence[Element] = (),
    ) -> None:
        self.entrance.check()
        made = self._client.make_presence(pto=to or None, ptype=kind)
        made.xml.extend(children)
        made.send()

    async def _until(self, future: "asyncio.Future[T]") -> T:
        """Return the result, unless the connection ends before."""
        either: set[asyncio.Future[Any]] = {future, self.entrance.lost}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not future.done():
                future.cancel()
        if not future.done() or future.cancelled():
            raise self.entrance.cut()
        return future.result()

    def _hear(self, told: Element, number: int) -> None:
        if told.tag.endswith("}presence"):
            with contextlib.suppress(ChannelUnavailable):
                self.attend(told)
        elif (result := told.find(f"{{{ARCHIVE}}}result")) is not None:
            self._results.get(result.get("queryid", ""), []).append(told)
        elif not self._unconfirmed.takes(told):
            self._come.append(told)
            self._client.hold(number)
            self._has_come.set()
            if len(self._come) > MAX_WAITING:
                self.entrance.end("more came than could be kept")

    def _acknowledged(self, stanza: "StanzaBase") -> None:
        self._unconfirmed.acknowledged(str(stanza["id"]))


@contextlib.asynccontextmanager
async def connected(login: XmppLogin, beat: Callable[[], None]) -> AsyncIterator[XmppConnection]:
    """Open a session for the length of the block.

    Raises:
        ChannelError: there is none.
    """
    connection = XmppConnection(login, beat)
    try:
        await connection.entrance.enter()
        yield connection
    finally:
        connection.entrance.let_go()
        await connection.entrance.left()
