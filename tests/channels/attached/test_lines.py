import asyncio
import socket
from collections.abc import Iterator

import pytest

from agent.channels.attached import lines as wires
from agent.channels.attached.lines import LineConnection
from agent.errors import ChannelRefused, ChannelUnavailable

LIMIT_BYTES = 1000


@pytest.fixture
def ends() -> Iterator[tuple[LineConnection, socket.socket]]:
    near, far = socket.socketpair(socket.AF_UNIX)
    wire = LineConnection(near, LIMIT_BYTES)
    with far:
        yield wire, far
        wire.close()


@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_lines_arrive_whole_in_whatever_pieces_they_come(
    ends: tuple[LineConnection, socket.socket], size: int
) -> None:
    wire, far = ends
    data = b"one\n\n" + b"x" * LIMIT_BYTES + b"\nthree\nnever ended"

    async def send() -> None:
        far.settimeout(0)
        for at in range(0, len(data), size):
            await asyncio.get_running_loop().sock_sendall(far, data[at : at + size])
        far.close()

    sending = asyncio.ensure_future(send())
    lines = [await wire.receive() for _ in range(5)]
    await sending
    assert lines == [b"one", b"", b"x" * LIMIT_BYTES, b"three", None]


@pytest.mark.parametrize("data", [b"x" * (LIMIT_BYTES + 1) + b"\n", b"x" * 500_000])
async def test_no_line_is_held_that_is_longer_than_the_limit(
    ends: tuple[LineConnection, socket.socket], data: bytes
) -> None:
    wire, far = ends
    far.settimeout(0)
    sending = asyncio.ensure_future(asyncio.get_running_loop().sock_sendall(far, data))
    with pytest.raises(ChannelRefused, match="longer than 1000 bytes"):
        await wire.receive()
    sending.cancel()
    await asyncio.wait([sending])


async def test_whoever_is_gone_is_said_to_be(ends: tuple[LineConnection, socket.socket]) -> None:
    wire, far = ends
    far.close()
    with pytest.raises(ChannelUnavailable):
        await wire.send(b"hello\n")


async def test_whoever_reads_nothing_is_not_waited_for(
    ends: tuple[LineConnection, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wires, "WRITE_TIMEOUT_S", 0.05)
    wire, _ = ends
    with pytest.raises(ChannelUnavailable, match="does not read"):
        await wire.send(b"x" * 5_000_000)
