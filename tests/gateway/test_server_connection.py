"""What comes over a connection, word by word: an answer or a clean end, never a traceback."""

import asyncio
import itertools
import logging
import random
import time
from pathlib import Path

import pytest

from agent.channels.webhook.messages import signed
from agent.gateway.request import MAX_HEAD_BYTES
from agent.gateway.server import MAX_IGNORED_BYTES, READ_TIMEOUT_S, ClosableTransport
from tests.fakes.gateway import KEY, TOKEN, Listening, answer_of, bearer, letter, listening
from tests.waits import PATIENCE_S, wait_until

HOST = b"host: 127.0.0.1\r\n"
GET = b"GET /health HTTP/1.1\r\n" + HOST
POST = b"POST /webhook HTTP/1.1\r\n" + HOST
CHUNKED = b"transfer-encoding: chunked\r\n"
# Each is sent in one piece, and cut at every fifth byte
ODD = (
    b"\r\n\r\n",
    b"GET / HTTP/0.9\r\n\r\n",
    b"GET\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    b"\x00" * 100 + b"\r\n\r\n",
    GET + b"x: \x00\r\n\r\n",
    GET + b"x y: z\r\n\r\n",
    GET + b"upgrade: websocket\r\nconnection: upgrade\r\n\r\n",
    GET + b"upgrade: h2c\r\nconnection: upgrade, http2-settings\r\n\r\nmore",
    GET + b"\r\n" + GET + b"\r\n",
    GET + b"\r\ngarbage that is no request at all\r\n\r\n",
    GET + b"content-length: 3\r\n\r\n",
    POST + CHUNKED + b"\r\nzz\r\nnonsense",
    POST + CHUNKED + b"\r\n5\r\nab",
    POST + CHUNKED + b"\r\n-5\r\nab\r\n",
    POST + b"content-length: 1\r\n\r\nabcdef",
    POST + b"content-length: 1\r\ncontent-length: 2\r\n\r\nabc",
    POST + b"expect: 100-continue\r\ncontent-length: 5\r\n\r\n",
    b"POST /pair HTTP/1.1\r\n" + HOST + CHUNKED + b"\r\nzz\r\nnonsense",
    b"POST /pair HTTP/1.1\r\n" + HOST + CHUNKED + b"\r\n2\r\n{}\r\nzz\r\n",
    b"POST /pair HTTP/1.1\r\n" + HOST + CHUNKED + b"\r\n2\r\n{}\r\n0\r\nx: y\r\n z\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n",
    b"CONNECT 127.0.0.1:22 HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET http://evil.example/health HTTP/1.1\r\n" + HOST + b"\r\n",
)


def troubles(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]


async def pour(gateway: Listening, raw: bytes, piece_bytes: int, *, is_shut: bool) -> None:
    reader, writer = await gateway.connect()
    try:
        for at in range(0, len(raw), piece_bytes):
            writer.write(raw[at : at + piece_bytes])
            await asyncio.sleep(0)
        if is_shut:
            writer.write_eof()
            async with asyncio.timeout(PATIENCE_S):
                await reader.read()
    except OSError:
        pass
    finally:
        writer.transport.abort()


async def test_odd_requests_leave_no_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening(tmp_path) as gateway:
        for raw, piece_bytes, is_shut in itertools.product(ODD, (5, 100_000), (False, True)):
            await pour(gateway, raw, piece_bytes, is_shut=is_shut)
        assert (await gateway.ask("GET", "/")).status in {404, 429}
    assert troubles(caplog) == []


async def test_requests_that_are_damaged_anywhere_leave_no_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(8475)
    body = letter("hello")
    head = "".join(
        f"{name}: {text}\r\n" for name, text in signed(KEY, "m", time.time(), body).items()
    )
    whole = POST + head.encode() + f"content-length: {len(body)}\r\n\r\n".encode() + body
    async with listening(tmp_path) as gateway:
        for _ in range(400):
            damaged = bytearray(whole)
            for _ in range(chance.randint(1, 3)):
                at = chance.randrange(len(damaged))
                damaged[at : at + chance.randint(0, 2)] = chance.randbytes(chance.randint(0, 2))
            await pour(
                gateway, bytes(damaged), chance.choice((40, 10_000)), is_shut=chance.random() < 0.2
            )
        assert (await gateway.ask("GET", "/")).status in {404, 429}
    assert troubles(caplog) == []


async def test_who_ends_its_side_after_a_whole_request_is_answered(tmp_path: Path) -> None:
    async with listening(tmp_path) as gateway:
        reader, writer = await gateway.connect()
        writer.write(GET + b"\r\n")
        writer.write_eof()
        assert (await answer_of(reader)).status == 200
        writer.close()


async def test_a_refusal_reaches_who_is_still_sending(tmp_path: Path) -> None:
    async with listening(tmp_path) as gateway:
        reader, writer = await gateway.connect()
        writer.write(GET + b"x: " + b"a" * (MAX_HEAD_BYTES + 20_000))
        await writer.drain()
        assert (await answer_of(reader)).status == 431
        # It goes on, and nobody keeps what it sends; without an end it is cut
        writer.write(b"a" * MAX_IGNORED_BYTES)
        begun_s = time.monotonic()
        async with asyncio.timeout(2 * READ_TIMEOUT_S):
            await writer.wait_closed() if writer.is_closing() else await until_cut(writer)
        assert time.monotonic() - begun_s < READ_TIMEOUT_S / 2


async def until_cut(writer: asyncio.StreamWriter) -> None:
    async def is_cut() -> bool:
        try:
            writer.write(b"a" * 1000)
            await writer.drain()
        except ConnectionError:
            return True
        return False

    await wait_until(is_cut, look_s=0.02)
    writer.transport.abort()


async def test_a_known_caller_is_told_apart_by_the_token(tmp_path: Path) -> None:
    async with listening(tmp_path, token=TOKEN) as gateway:
        reader, writer = await gateway.connect()
        name, text = bearer(TOKEN)[0]
        writer.write(b"POST /pair HTTP/1.1\r\n" + HOST + f"{name}: {text}\r\n".encode())
        writer.write(b"content-length: 50\r\n\r\n{")
        await wait_until(lambda: [one.is_known for one in gateway.gateway.places] == [True])
        [holder] = gateway.gateway.places
        assert (holder.who, holder.is_known, holder.gives_way) == ("127.0.0.1", True, True)
        writer.close()
        del reader


class CutTransport:
    """Raises for a write after its end, as uvloop's does."""

    def __init__(self) -> None:
        self.written = b""
        self.is_cut = False

    def is_closing(self) -> bool:
        return self.is_cut

    def write(self, data: bytes) -> None:
        if self.is_cut:
            raise RuntimeError("unable to perform operation; the handler is closed")
        self.written += data


def test_what_is_written_to_a_caller_who_was_cut_is_dropped() -> None:
    cut = CutTransport()
    transport = ClosableTransport(cut)
    transport.write(b"HTTP/1.1 ")
    cut.is_cut = True
    transport.write(b"200 OK")
    assert (cut.written, transport.is_closing()) == (b"HTTP/1.1 ", True)
