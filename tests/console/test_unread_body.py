"""An answer that is given before its request was read to the end reaches the browser."""

import asyncio
from pathlib import Path

import pytest

from agent.console import unread_body
from tests.fakes.console_home import console_home

# More than all buffers on the way hold, with lines that end as no browser ends one
FILE = b"a line\n" * 1_200_000


@pytest.mark.parametrize("connection", ["keep-alive", "close"])
async def test_a_file_that_is_refused_is_told_why(tmp_path: Path, connection: str) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        told = home.headers(session) | {
            "content-type": "application/octet-stream",
            "x-barnacle-token": "wrong",
            "content-length": str(len(FILE)),
            "connection": connection,
        }
        lines = [f"{name}: {value}" for name, value in told.items()]
        head = "\r\n".join(["POST /file?name=a HTTP/1.1", *lines, "", ""]).encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", home.port)
        writer.write(head + FILE)
        await writer.drain()
        assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 403")
        writer.close()


async def test_the_rest_of_a_body_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unread_body, "REST_SILENT_S", 0.05)
    async with console_home(tmp_path) as home:
        lines = [f"{name}: {value}" for name, value in home.headers().items()]
        lines += ["content-length: 9000", "connection: close", "", "begun"]
        answer = await home.say("\r\n".join(["POST /say HTTP/1.1", *lines]).encode())
        assert answer.startswith(b"HTTP/1.1 415")
