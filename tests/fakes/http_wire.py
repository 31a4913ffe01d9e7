"""As much of HTTP as a pretended service needs: whole requests, answers cut anywhere."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, target, headers, body)


async def write(
    writer: asyncio.StreamWriter,
    status: int,
    content: bytes = b"",
    content_type: str = "",
    piece_bytes: int = 65536,
) -> None:
    lines = [f"HTTP/1.1 {status} -", f"content-length: {len(content)}"]
    if content_type:
        lines.append(f"content-type: {content_type}")
    writer.write("\r\n".join([*lines, "", ""]).encode())
    for piece in pieces(content, piece_bytes):
        writer.write(piece)
        await writer.drain()


def pieces(content: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]
