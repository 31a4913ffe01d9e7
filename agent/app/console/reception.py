"""Reception of the console: who may connect, and the answers before and beside a conversation.

Only the console's own user, the agent's and root may connect; none of them is anybody by that.
"""

import asyncio
import contextlib
import logging
import os
import pwd
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from agent.access.browser_sessions import BrowserSessions, digest
from agent.access.people import Person
from agent.access.roles import PersonRole
from agent.app.console.files import ConsoleFiles, pieces_of
from agent.channels.attached.frames import MAX_SAID_FRAME_BYTES
from agent.channels.attached.lines import LineConnection
from agent.channels.attached.peers import SocketPeer, TerminalUser, peer_of
from agent.channels.attached.session import AdmittedTerminal
from agent.channels.console import frames
from agent.errors import BarnacleError, ChannelError, ChannelRefused
from agent.messages import Provenance
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# The user of the console's unit
USER = "barnacle-console"
# A console asks as soon as it is connected, and keeps no connection that it does not use
IDLE_S = 30.0
# Of all browsers; each has one for its conversation, and some for moments
MAX_CONNECTIONS = 96
# No descriptor was free: whoever wants to connect waits for so long
_ACCEPT_AGAIN_S = 1.0
_ROOT = 0

# Data of a page for a person, who has the right to it already
ReadView = Callable[[Person, Mapping[str, str]], Awaitable[Any]]


class ConsoleView(Struct, frozen=True):
    """A page's data, and the least role that may see it."""

    least: PersonRole
    read: ReadView


class ConsoleParts(Struct, frozen=True):
    """Parts of the agent that its console shows.

    Args:
        views: pages, which change nothing.
        acts: forms.
        files: of the conversations; None where there are none.
        ends: what an act has begun, and ends with the agent.
    """

    device: frames.DeviceFrame
    sessions: BrowserSessions
    views: Mapping[str, ConsoleView]
    acts: Mapping[str, ConsoleView] = field(default_factory=dict)
    files: ConsoleFiles | None = None
    ends: Sequence[Callable[[], Awaitable[None]]] = ()


Serve = Callable[[AdmittedTerminal], Awaitable[None]]


class ConsoleReception:
    """Answers the console, and hands those who want to talk on to `serve`."""

    def __init__(self, parts: ConsoleParts, clock: Clock, serve: Serve) -> None:
        self._parts = parts
        self._clock = clock
        self._serve = serve
        self._inside = 0

    async def run(self, listening: socket.socket) -> None:
        """Run until cancelled."""
        user = await asyncio.to_thread(console_uid)
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as tasks:
            while True:
                try:
                    connection, _ = await loop.sock_accept(listening)
                except OSError as err:
                    _log.warning("console: cannot accept connections (reason=%s)", err.strerror)
                    await self._clock.sleep(_ACCEPT_AGAIN_S)
                    continue
                tasks.create_task(self._receive(connection, user))

    async def _receive(self, connection: socket.socket, user: int | None) -> None:
        wire = LineConnection(connection, MAX_SAID_FRAME_BYTES)
        try:
            if not may_connect(peer := peer_of(connection), user):
                _log.warning("console: user refused (uid=%d)", peer.uid)
            elif self._inside < MAX_CONNECTIONS:
                self._inside += 1
                try:
                    await self._answer(wire, peer)
                finally:
                    self._inside -= 1
        except (ChannelError, OSError) as err:
            # A browser that goes to another page leaves this one's events
            _log.debug("console: connection ended (reason=%s)", err)
        finally:
            wire.close()

    async def _answer(self, wire: LineConnection, peer: SocketPeer) -> None:
        while True:
            try:
                async with asyncio.timeout(IDLE_S):
                    line = await wire.receive()
            except TimeoutError:
                return
            if line is None:
                return
            if len(line) > frames.MAX_ASKED_BYTES:
                raise ChannelRefused("the question is too long")
            asked = frames.from_console(line)
            if isinstance(asked, frames.AttachFrame):
                await self._attach(wire, peer, asked.session)
                return
            try:
                told = await self._told_or_sent(asked, wire)
            except BarnacleError as err:
                told = frames.DeniedFrame(str(err), is_known=True)
            await wire.send(frames.encoded(told))
            if isinstance(asked, frames.UploadFrame):
                # What is left of a file that was refused is no question
                return

    async def _told_or_sent(
        self, asked: frames.FromConsole, wire: LineConnection
    ) -> frames.ToConsole:
        """Return the answer; of a file it comes after, or before, its pieces."""
        if not isinstance(asked, frames.UploadFrame | frames.FetchFrame):
            return await self._told(asked)
        files, browser = self._parts.files, digest(asked.session)
        if files is None or self._parts.sessions.person(asked.session) is None:
            return frames.DeniedFrame("this browser has no access")
        if isinstance(asked, frames.UploadFrame):
            coming = _coming(wire)
            return frames.FileFrame(await files.keep(browser, asked.name, asked.media_type, coming))
        found, file, size_bytes = await files.open(browser, asked.ref)
        name = found.name or asked.ref
        told = frames.FileFrame("", name, found.media_type, size_bytes)
        pieces = pieces_of(file, size_bytes)
        async with contextlib.aclosing(pieces):
            await wire.send(frames.encoded(told))
            async for piece in pieces:
                await wire.send(frames.encoded(frames.PieceFrame(piece)))
        return frames.PieceFrame()

    async def _told(self, asked: frames.FromConsole) -> frames.ToConsole:
        sessions = self._parts.sessions
        match asked:
            case frames.AboutFrame():
                return self._parts.device
            case frames.KnockFrame(door, who) | frames.PressFrame(door, who):
                code, is_pressing = sessions.knock(door, who), isinstance(asked, frames.PressFrame)
                press = sessions.press(door).value if is_pressing else ""
                return frames.KnockedFrame(code, sessions.has_button, press)
            case frames.ClaimFrame(door):
                return frames.LetInFrame(await sessions.claim(door))
            case frames.EnterFrame(code, who):
                session = await sessions.enter(code, who)
                return frames.LetInFrame(session, 0.0 if session else sessions.wait_s(who))
            case frames.EndFrame(session):
                await sessions.end(session)
                return frames.LetInFrame()
            case frames.QueryFrame() | frames.ActFrame():
                return await self._seen(asked)
        raise ChannelRefused("there is no such question")

    async def _seen(self, asked: frames.QueryFrame | frames.ActFrame) -> frames.ToConsole:
        person = self._parts.sessions.person(asked.session)
        if person is None:
            return frames.DeniedFrame("this browser has no access")
        if isinstance(asked, frames.QueryFrame):
            view, told = self._parts.views.get(asked.view), asked.arguments
        else:
            view, told = self._parts.acts.get(asked.act), asked.fields
        if view is None or person.rank < view.least:
            return frames.DeniedFrame("this page is not for you", is_known=True)
        arguments = {**told, "browser": digest(asked.session)}
        data = msgspec.json.encode(await view.read(person, arguments))
        return frames.ViewFrame(person.role, msgspec.Raw(data))

    async def _attach(self, wire: LineConnection, peer: SocketPeer, session: str) -> None:
        if self._parts.sessions.person(session) is None:
            await wire.send(frames.encoded(frames.DeniedFrame("this browser has no access")))
            return
        browser = digest(session)
        # The door says who they are, by the store, with every message anew
        who = TerminalUser(peer.uid, browser, browser, Provenance.WEB)
        await self._serve(AdmittedTerminal(wire, who, plain=False))


async def _coming(wire: LineConnection) -> AsyncGenerator[bytes, None]:
    """Yield the pieces of a file until the empty one."""
    while True:
        async with asyncio.timeout(IDLE_S):
            line = await wire.receive()
        piece = None if line is None else frames.from_console(line)
        if not isinstance(piece, frames.PieceFrame):
            raise ChannelRefused("the file did not come whole")
        if not piece.data:
            return
        yield piece.data


def may_connect(peer: SocketPeer, user: int | None) -> bool:
    """Return true for the console's user, the agent's and root; a tool's program is nobody."""
    return not peer.is_own and peer.uid in {_ROOT, os.geteuid(), user}


def console_uid() -> int | None:
    """Return the number of the console's user, where this machine has it."""
    try:
        return pwd.getpwnam(USER).pw_uid
    except KeyError:
        return None
