import zlib

import pytest

from agent.errors import LinkLost, WrongDevice
from agent.link.connection import BoardConnection
from agent.link.frame import METHOD_MANIFEST
from agent.link.manifest_cache import MAX_MANIFEST_BYTES, hash_of
from agent.link.transfer import MAX_PACKED_BYTES, fetch_manifest
from tests.fakes.peer import ScriptedBoard
from tests.fakes.ports import FakePort
from tests.fakes.virtual_time import LoopClock, in_virtual_time


async def fetched(board: ScriptedBoard, manifest_hash: bytes | None = None) -> bytes:
    async with BoardConnection(FakePort(board), LoopClock()) as connection:
        greeting = await connection.greet()
        return await fetch_manifest(connection, manifest_hash or greeting.manifest_hash)


@in_virtual_time
async def test_a_manifest_of_several_chunks_comes_whole() -> None:
    board = ScriptedBoard()
    assert await fetched(board) == board.manifest
    assert len(board.requests) > 2


@in_virtual_time
async def test_another_manifest_than_announced_is_refused() -> None:
    with pytest.raises(WrongDevice, match="does not match its announced hash"):
        await fetched(ScriptedBoard(), manifest_hash=b"12345678")


@pytest.mark.parametrize(
    ("packed", "words"),
    [
        (b"", "has no end"),
        (b"not zlib at all", "is damaged"),
        (zlib.compress(b"manifest")[:-3], "truncated or too long"),
        (zlib.compress(bytes(MAX_MANIFEST_BYTES + 1)), "truncated or too long"),
        (bytes(MAX_PACKED_BYTES + 1), "has no end"),
    ],
)
def test_a_manifest_that_cannot_be_unpacked_is_refused(packed: bytes, words: str) -> None:
    @in_virtual_time
    async def refuse() -> None:
        with pytest.raises(WrongDevice, match=words):
            await fetched(ScriptedBoard(packed=packed))

    refuse()


@pytest.mark.parametrize("answer", [(8, b"no such method"), (0, b"\1")])
def test_a_board_without_a_manifest_is_refused(answer: tuple[int, bytes]) -> None:
    @in_virtual_time
    async def refuse() -> None:
        with pytest.raises(WrongDevice, match="does not send its manifest"):
            await fetched(ScriptedBoard(overrides={METHOD_MANIFEST: answer}))

    refuse()


@in_virtual_time
async def test_a_link_that_dies_meanwhile_is_a_lost_link() -> None:
    port = FakePort(ScriptedBoard(ignores_requests=True))
    async with BoardConnection(port, LoopClock()) as connection:
        await connection.greet()
        connection.session.end("gone")
        with pytest.raises(LinkLost, match="gone"):
            await fetch_manifest(connection, hash_of(b""))
