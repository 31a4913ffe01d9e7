import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import pytest
from websockets.asyncio.server import ServerConnection, serve

from agent.channels.urgency import is_urgent
from agent.channels.urgent_first import MAX_WAITING, UrgentFirst
from agent.channels.websocket import SocketClosed, WebSocket, opened
from agent.errors import StorageFull
from tests.waits import stays, wait_until


class Line:
    """A connection with its other end, and what was taken ahead."""

    def __init__(self, socket: WebSocket, there: ServerConnection) -> None:
        self.there = there
        self.beats = 0
        self.ahead: list[str] = []
        self.trouble: Exception | None = None
        self.overtaking = UrgentFirst(socket, self._beat, self._hurry)

    async def taken(self, count: int) -> list[str | bytes]:
        async with contextlib.aclosing(self.overtaking.messages()) as messages:
            return [await anext(messages) for _ in range(count)]

    def _beat(self) -> None:
        self.beats += 1

    async def _hurry(self, message: str | bytes) -> None:
        if self.trouble is not None:
            raise self.trouble
        if is_urgent(str(message)):
            self.ahead.append(str(message))


@pytest.fixture
async def line() -> AsyncIterator[Line]:
    connected: asyncio.Future[ServerConnection] = asyncio.get_running_loop().create_future()

    async def keep(connection: ServerConnection) -> None:
        connected.set_result(connection)
        await connection.wait_closed()

    async with serve(keep, "127.0.0.1", 0, compression=None) as door:
        port = next(iter(door.sockets)).getsockname()[1]
        async with opened(f"ws://127.0.0.1:{port}") as socket:
            yield Line(socket, await connected)


async def test_what_is_urgent_goes_ahead_and_everything_keeps_its_place(line: Line) -> None:
    async with line.overtaking.watched():
        for text in ("one", "/stop", "two"):
            await line.there.send(text)
        await wait_until(lambda: line.ahead and line.beats == 3)
    await line.there.send("three")
    assert line.ahead == ["/stop"]
    assert await line.taken(4) == ["one", "/stop", "two", "three"]


async def test_nothing_is_lost_however_short_the_look(line: Line) -> None:
    sending = asyncio.ensure_future(_count(line.there))
    for _ in range(50):
        async with line.overtaking.watched():
            await asyncio.sleep(0)
    assert await line.taken(200) == [str(number) for number in range(200)]
    await sending


async def _count(there: ServerConnection) -> None:
    for number in range(200):
        await there.send(str(number))


async def test_a_connection_that_ends_meanwhile_is_met_in_its_turn(line: Line) -> None:
    async with line.overtaking.watched():
        await line.there.send("one")
        await line.there.close()
        await wait_until(lambda: line.beats)
    async with contextlib.aclosing(line.overtaking.messages()) as messages:
        assert await anext(messages) == "one"
        with pytest.raises(SocketClosed):
            await anext(messages)


async def test_what_could_not_be_taken_ahead_is_taken_in_its_turn(line: Line) -> None:
    line.trouble = StorageFull("no room")
    async with line.overtaking.watched():
        await line.there.send("/stop")
        await wait_until(lambda: line.beats)
    assert await line.taken(1) == ["/stop"]


async def test_more_than_anybody_says_waits_at_the_platform(line: Line) -> None:
    sending = asyncio.ensure_future(_flood(line.there, 2 * MAX_WAITING))
    async with line.overtaking.watched():
        await wait_until(lambda: line.beats == MAX_WAITING)
        # Whoever read on would do it at once
        await stays(lambda: line.beats == MAX_WAITING, 0.05)
    assert len(await line.taken(2 * MAX_WAITING)) == 2 * MAX_WAITING
    await sending


async def _flood(there: ServerConnection, count: int) -> None:
    for _ in range(count):
        await there.send(json.dumps({"x": "y"}))
