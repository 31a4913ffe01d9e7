"""The pages in a real Chromium on a small phone, with letters twice as large: none is cut off."""

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

from agent.console import pages
from agent.console.pages import Visitor
from agent.console.static_files import static_file
from agent.console.wording import wording
from tests.fakes.console_home import HOME, PIN

CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium"),
    # A browser starts in seconds, on a busy machine in a minute
    pytest.mark.timeout(300),
]
WIDTH_PX = 360
VISITOR = Visitor("Ann", "owner", "token")
ROW: dict[str, Any] = {
    "text": "turn the greenhouse's pump on",
    "at_s": 1.0,
    "files": [],
    "is_open": False,
}
ROW |= {"answer": "Done.", "answer_files": []}
BOARD = {"name": "board", "state": "ready", "port": "/dev/barnacle-board", "trouble": ""}
SHOWN: Mapping[str, Mapping[str, Any]] = {
    "home": {"troubles": []},
    "chat": {
        "talk": {"messages": [ROW], "told": []},
        "form": "x",
    },
    "board": {"board": {"boards": [{**BOARD, "kind": "simulated", "pins": [PIN]}]}, "rules": []},
    "more": {},
}
# A browser's window is never so narrow, a frame is
MEASURING = """
window.addEventListener("load", () => {
  const told = {};
  for (const frame of document.querySelectorAll("iframe")) {
    const root = frame.contentDocument.documentElement;
    told[frame.id] = [root.scrollWidth, getComputedStyle(root).fontSize];
  }
  document.title = JSON.stringify(told);
});
"""


def _page(name: str) -> bytes:
    values: dict[str, Any] = {"page": name, "device": "Greenhouse", "home": HOME}
    values |= {"visitor": VISITOR, "questions": [], "shape": "x", **SHOWN[name]}
    large = "<style>html{font-size:200%}</style></head>"
    return pages.rendered(name, wording("en"), **values).replace("</head>", large, 1).encode()


def _frames() -> bytes:
    # Bars take no room on a phone
    told = f'width="{WIDTH_PX}" scrolling="no"'
    frames = (f'<iframe id="{name}" src="/{name}" {told}></iframe>' for name in SHOWN)
    return f"<title></title><script>{MEASURING}</script>{''.join(frames)}".encode()


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


async def _measured(folder: Path) -> Mapping[str, Any]:
    shown = {"": _frames(), **{name: _page(name) for name in SHOWN}}
    server = await asyncio.start_server(partial(_serve, shown), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    words = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}"]
    process = await asyncio.create_subprocess_exec(
        *(str(CHROMIUM), *words, "--virtual-time-budget=10000", "--dump-dom"),
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


async def test_no_page_is_wider_than_a_small_screen(tmp_path: Path) -> None:
    told = await _measured(tmp_path)
    assert told == {name: [WIDTH_PX, "32px"] for name in SHOWN}
