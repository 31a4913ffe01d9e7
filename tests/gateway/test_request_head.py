from pathlib import Path

import pytest

from agent.gateway.request import MAX_HEAD_BYTES, MAX_HEADERS, RequestHead
from tests.fakes.gateway import bearer, listening

FINE = b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\nx-a: b\r\n\r\n"


def statuses(raw: bytes, piece_bytes: int) -> int | None:
    head = RequestHead()
    for at in range(0, len(raw), piece_bytes):
        head.add(raw[at : at + piece_bytes])
        if fault := head.fault():
            return fault.status
        if head.take() is not None:
            return 200
    return None


@pytest.mark.parametrize("piece_bytes", [1, 2, 3, 7, 10_000])
@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (FINE, 200),
        (FINE + b"a body\nwith lines\r of\r\n any kind", 200),
        (FINE[:-1], None),
        (FINE.replace(b"\r\n", b"\n"), 400),
        (FINE.replace(b"b\r\n", b"b\n"), 400),
        (FINE.replace(b"1.1\r\n", b"1.1\n"), 400),
        (FINE.replace(b"b\r\n\r\n", b"b\r\n\n"), 400),
        (FINE.replace(b"x-a: b", b"x-a: b\rc: d"), 400),
        (FINE.replace(b"x-a: b", b"x-a:\r\n b"), 400),
        (FINE.replace(b"x-a: b", b"x-a: b\r\n\tcontent-length: 5"), 400),
        (FINE.replace(b"host", b" host"), 400),
        (FINE.replace(b": b", b": " + b"b" * 40_000), 431),
        (FINE.replace(b"/health", b"/" + b"b" * 40_000), 431),
        (FINE.replace(b"x-a: b", b"\r\n".join([b"x-a: b"] * MAX_HEADERS)), 431),
    ],
)
def test_a_head_is_taken_or_refused_however_it_is_cut(
    raw: bytes, status: int | None, piece_bytes: int
) -> None:
    assert statuses(raw, piece_bytes) == status


def test_a_head_may_be_as_long_as_it_says_and_no_longer() -> None:
    room = MAX_HEAD_BYTES - len(FINE)
    longest = FINE.replace(b": b", b": b" + b"b" * room)
    assert len(longest) == MAX_HEAD_BYTES
    assert statuses(longest, 10_000) == 200
    assert statuses(longest.replace(b": b", b": bb"), 10_000) == 431


async def test_refusals_of_heads_come_as_answers(tmp_path: Path) -> None:
    async with listening(tmp_path) as gateway:
        assert (await gateway.send(FINE)).status == 200
        refused = await gateway.send(FINE.replace(b"x-a: b", b"x-a:\r\n b"))
        assert refused.status == 400
        assert refused.said == '{"error":"a header has to stand in one line"}'
        assert refused.headers["connection"] == "close"
        loose = await gateway.send(FINE.replace(b"\r\n", b"\n"))
        assert (loose.status, "CR and LF" in loose.said) == (400, True)


async def test_a_header_of_40_kb_is_too_long_whatever_else_is_wrong(tmp_path: Path) -> None:
    async with listening(tmp_path, token="") as gateway:
        for headers in (bearer("b" * 40_000), [("x-long", "b" * 40_000)]):
            assert (await gateway.ask("GET", "/metrics", headers)).status == 431
