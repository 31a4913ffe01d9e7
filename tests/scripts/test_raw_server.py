"""Whoever connects to a server of the tests as it ends is let go of at once."""

import asyncio
import contextlib
import socket

import pytest

from tests.fakes import raw_server


async def until_the_end(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.read()


@pytest.mark.parametrize("passes", range(7))
async def test_a_connection_is_closed_however_far_it_was_made(passes: int) -> None:
    """In Python's own server one that it has accepted just before its end stays open."""
    async with raw_server.serving(until_the_end) as url:
        client = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])))
        for _ in range(passes):
            await asyncio.sleep(0)
    with client, contextlib.suppress(ConnectionResetError):
        client.settimeout(0)
        assert client.recv(1) == b""
