"""The wire at a socket whose other end lies, waits or never reads."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator

import pytest

from agent.net import wyoming as wire
from agent.net.wyoming import WireRefused, WyomingEvent, read_event, write_event


class Ends:
    """Both ends of a connection; the far one is a plain socket."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, far: socket.socket
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.far = far


@pytest.fixture
async def ends() -> AsyncIterator[Ends]:
    near, far = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=near, limit=wire.MAX_LINE_BYTES)
    yield Ends(reader, writer, far)
    far.close()
    writer.transport.abort()


async def test_what_is_written_is_read_again(ends: Ends) -> None:
    event = WyomingEvent("handled", {"text": "Grüße", "context": {"conversation_id": "a"}})
    await write_event(ends.writer, event)
    ends.far.sendall(ends.far.recv(65536))
    assert await read_event(ends.reader) == event
    await write_event(ends.writer, WyomingEvent("handled-stop"))
    assert json.loads(ends.far.recv(65536)).keys() == {"type", "version"}


async def test_data_in_the_line_and_behind_it_are_one(ends: Ends) -> None:
    ends.far.sendall(b'{"type": "a", "data": {"x": 1, "y": 1}, "data_length": 8}\n{"y": 2}')
    assert await read_event(ends.reader) == WyomingEvent("a", {"x": 1, "y": 2})


async def test_whoever_leaves_or_says_nothing_is_let_go(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "IDLE_TIMEOUT_S", 0.01)
    assert await read_event(ends.reader) is None
    ends.far.sendall(b'{"type": "a"')
    ends.far.close()
    assert await read_event(ends.reader) is None


async def test_an_event_that_never_ends_is_refused(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "EVENT_TIMEOUT_S", 0.01)
    ends.far.sendall(b'{"type": "a", "data_length": 9}\n{')
    with pytest.raises(WireRefused, match="whole within"):
        await read_event(ends.reader)


async def test_a_client_that_reads_nothing_is_cut_off(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "WRITE_TIMEOUT_S", 0.01)
    await write_event(ends.writer, WyomingEvent("handled", {"text": "a" * 10_000_000}))
    assert ends.writer.transport.is_closing()
    # And nothing more is said to it
    await write_event(ends.writer, WyomingEvent("handled-stop"))
