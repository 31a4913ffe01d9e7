"""The console's way to the agent: one question, one answer, over connections that are kept."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agent.channels.attached.lines import LineConnection
from agent.channels.attached.socket import connected
from agent.channels.console import frames
from agent.errors import ChannelRefused, ChannelUnavailable

if TYPE_CHECKING:
    import socket

# A board that does not answer takes some seconds; the agent itself milliseconds
ANSWER_TIMEOUT_S = 10.0
# A form may start a program of the agent's
ACT_TIMEOUT_S = 75.0
# As many as pages ask at once; the agent ends those that nobody uses
MOST_KEPT = 6


class NoAccess(Exception):
    """The browser has no session, or not any more."""


class NotForVisitor(Exception):
    """The visitor's role does not go so far; the text says why."""


class AgentClient:
    """Asks the agent whose socket is at `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: list[LineConnection] = []

    async def about(self) -> frames.DeviceFrame:
        """Return the device and the console's settings.

        Raises:
            ChannelError: no agent is there, or none that this console understands.
        """
        told = await self.ask(frames.AboutFrame(frames.VERSION))
        if not isinstance(told, frames.DeviceFrame) or told.version != frames.VERSION:
            raise ChannelRefused("the agent has another version: restart it and the console")
        return told

    async def view(self, session: str, name: str, **arguments: str) -> Any:
        """Return the data of a page.

        Raises:
            NoAccess: the browser has no session.
            NotForVisitor: the page is not for this visitor.
            ChannelError: no agent is there.
        """
        return _data(await self.ask(frames.QueryFrame(session, name, arguments)))

    async def knows(self, session: str) -> bool:
        """Return true if the browser has a session.

        Raises:
            ChannelError: no agent is there.
        """
        try:
            return bool(session and await self.view(session, "home"))
        except NoAccess:
            return False

    async def act(self, session: str, name: str, fields: Mapping[str, str]) -> Any:
        """Have the agent do what a form says; return what came of it.

        Raises:
            NoAccess: the browser has no session.
            NotForVisitor: the form is not for this visitor.
            ChannelError: no agent is there, or it went away before it answered.
        """
        return _data(await self.ask(frames.ActFrame(session, name, dict(fields))))

    async def ask(self, frame: frames.FromConsole) -> frames.ToConsole:
        """Return the agent's answer.

        Raises:
            ChannelError: no agent is there, or it does not answer.
        """
        # A question that reads nothing and changes something is asked once, on a new connection
        may_repeat = isinstance(frame, frames.QueryFrame | frames.ClaimFrame | frames.KnockFrame)
        while self._kept and may_repeat:
            wire = self._kept.pop()
            try:
                return await self._asked(wire, frame)
            except ChannelUnavailable:
                # The agent has ended it meanwhile
                continue
        return await self._asked(await self.connect(), frame)

    async def connect(self) -> LineConnection:
        """Return a new connection.

        Raises:
            ChannelError: no agent is there.
        """
        making = asyncio.ensure_future(asyncio.to_thread(connected, self._path))
        try:
            made = await asyncio.shield(making)
        except asyncio.CancelledError:
            # The thread goes on, and nobody else would close what it opens
            making.add_done_callback(_closed)
            raise
        return LineConnection(made, frames.MAX_TOLD_BYTES * 2)

    async def upload(
        self, session: str, name: str, media_type: str, pieces: AsyncIterator[bytes]
    ) -> str:
        """Give the agent a file, piece by piece; return its name for the next message.

        Raises:
            NoAccess: the browser has no session.
            NotForVisitor: it is not taken, and why.
            ChannelError: no agent is there.
        """
        wire = await self.connect()
        try:
            await wire.send(frames.encoded(frames.UploadFrame(session, name, media_type)))
            async for piece in pieces:
                for at in range(0, len(piece), frames.MAX_PIECE_BYTES):
                    part = piece[at : at + frames.MAX_PIECE_BYTES]
                    await wire.send(frames.encoded(frames.PieceFrame(part)))
            await wire.send(frames.encoded(frames.PieceFrame()))
            return _file(await self._line(wire)).number
        except ChannelUnavailable:
            # It has said why before it hung up
            return _file(await self._line(wire)).number
        finally:
            wire.close()

    async def fetch(
        self, session: str, ref: str
    ) -> tuple[frames.FileFrame, AsyncGenerator[bytes, None]]:
        """Return a file of the visitor's conversation, and its pieces, which are to be closed.

        Raises:
            NoAccess: the browser has no session.
            NotForVisitor: it has no such file.
            ChannelError: no agent is there.
        """
        wire = await self.connect()
        try:
            await wire.send(frames.encoded(frames.FetchFrame(session, ref)))
            found = _file(await self._line(wire))
        except BaseException:
            wire.close()
            raise
        return found, self._pieces(wire)

    async def _pieces(self, wire: LineConnection) -> AsyncGenerator[bytes, None]:
        try:
            while isinstance(told := await self._line(wire), frames.PieceFrame) and told.data:
                yield told.data
        finally:
            wire.close()

    async def _line(self, wire: LineConnection) -> frames.ToConsole:
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                line = await wire.receive()
        except TimeoutError as err:
            raise ChannelUnavailable("the agent does not answer") from err
        if line is None:
            raise ChannelUnavailable("the agent closed the connection")
        return frames.to_console(line)

    def close(self) -> None:
        while self._kept:
            self._kept.pop().close()

    async def _asked(self, wire: LineConnection, frame: frames.FromConsole) -> frames.ToConsole:
        is_kept = False
        try:
            is_act = isinstance(frame, frames.ActFrame)
            async with asyncio.timeout(ACT_TIMEOUT_S if is_act else ANSWER_TIMEOUT_S):
                await wire.send(frames.encoded(frame))
                line = await wire.receive()
            if line is None:
                raise ChannelUnavailable("the agent closed the connection")
            told = frames.to_console(line)
            if is_kept := len(self._kept) < MOST_KEPT:
                self._kept.append(wire)
        except TimeoutError as err:
            raise ChannelUnavailable("the agent does not answer") from err
        finally:
            if not is_kept:
                wire.close()
        return told


def _closed(making: "asyncio.Future[socket.socket]") -> None:
    if not making.cancelled() and making.exception() is None:
        making.result().close()


def _file(told: frames.ToConsole) -> frames.FileFrame:
    if isinstance(told, frames.FileFrame):
        return told
    if isinstance(told, frames.DeniedFrame) and told.is_known:
        raise NotForVisitor(told.why)
    raise NoAccess


def _data(told: frames.ToConsole) -> Any:
    if isinstance(told, frames.ViewFrame):
        return msgspec.json.decode(told.data)
    if isinstance(told, frames.DeniedFrame) and told.is_known:
        raise NotForVisitor(told.why)
    raise NoAccess
