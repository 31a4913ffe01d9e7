import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.matrix.encryption.files import FileEncryption, opened, seal_in
from agent.errors import ChannelUnavailable

PIECES = st.lists(st.binary(max_size=50), max_size=6)
ANYTHING = st.none() | st.integers() | st.text(max_size=4) | st.lists(st.text(max_size=2))


async def pieces(parts: list[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def whole(told: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in told])


async def sealed(parts: list[bytes]) -> tuple[bytes, dict[str, object]]:
    sealing = FileEncryption()
    content = await whole(sealing.sealed(pieces(parts)))
    return content, sealing.told("mxc://a/b")


async def unsealed(content: bytes, told: dict[str, object]) -> bytes:
    seal = seal_in(told)
    assert seal is not None
    return await whole(opened(pieces([content[:7], content[7:]]), seal))


@given(PIECES)
def test_a_file_is_what_it_was_in_whatever_pieces_it_comes(parts: list[bytes]) -> None:
    content, told = asyncio.run(sealed(parts))
    assert len(content) == len(b"".join(parts))
    assert asyncio.run(unsealed(content, told)) == b"".join(parts)


def test_a_file_that_was_changed_is_none() -> None:
    content, told = asyncio.run(sealed([b"17 degrees"]))
    with pytest.raises(ChannelUnavailable, match="does not match its hash"):
        asyncio.run(unsealed(content[:-1] + b"x", told))


def test_no_two_files_are_sealed_alike() -> None:
    (one, told), (other, told_too) = (asyncio.run(sealed([bytes(64)])) for _ in range(2))
    assert one != other
    assert told["iv"] != told_too["iv"]
    assert one != bytes(64)


@given(st.dictionaries(st.sampled_from(["key", "iv", "hashes", "url"]), ANYTHING))
def test_whatever_stands_for_a_seal_is_none(told: dict[str, object]) -> None:
    assert seal_in(told) is None
    assert seal_in({**told, "key": {"k": "AAAA"}, "hashes": {"sha256": "AAAA"}}) is None
