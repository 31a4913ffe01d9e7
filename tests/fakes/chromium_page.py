"""A real Chromium that opens pages of ours, and what their script tells in the title."""

import asyncio
import html
import json
import re
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent.console.static_files import static_file

CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), None)
NEEDS_CHROMIUM = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium"),
    # A browser starts in seconds, on a busy machine in a minute
    pytest.mark.timeout(300),
]


async def told_by(shown: Mapping[str, bytes], folder: Path, *, budget_ms: int) -> Mapping[str, Any]:
    """Open the page without a name and return the JSON of its title.

    Args:
        shown: pages by their names; files of the console are there beside them.
        folder: for the browser.
        budget_ms: of the page's own time, which passes as fast as it can.
    """
    server = await asyncio.start_server(partial(_serve, shown), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    words = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}"]
    process = await asyncio.create_subprocess_exec(
        *(str(CHROMIUM), *words, f"--virtual-time-budget={budget_ms}", "--dump-dom"),
        f"http://127.0.0.1:{port}/",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    out, _ = await process.communicate()
    server.close()
    title = re.search(r"<title>(\{.*?\})</title>", out.decode())
    assert title is not None, out.decode()[:2000]
    told: Mapping[str, Any] = json.loads(html.unescape(title[1]))
    return told


async def _serve(
    shown: Mapping[str, bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode().partition("?")[0].strip("/")
    found = static_file(path.removeprefix("static/"))
    kind = found.media_type if found else "text/html; charset=utf-8"
    body = found.plain if found else shown.get(path, b"")
    lines = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{lines}Connection: close\r\n\r\n".encode() + body)
    await writer.drain()
    writer.close()
