"""The pages in a real Chromium on a small phone, with letters twice as large: none is cut off."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent.console import pages
from agent.console.pages import Visitor
from agent.console.wording import wording
from tests.fakes.chromium_page import NEEDS_CHROMIUM, told_by
from tests.fakes.console_home import HOME, PIN

pytestmark = NEEDS_CHROMIUM
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


async def test_no_page_is_wider_than_a_small_screen(tmp_path: Path) -> None:
    shown = {"": _frames(), **{name: _page(name) for name in SHOWN}}
    told = await told_by(shown, tmp_path, budget_ms=10_000)
    assert told == {name: [WIDTH_PX, "32px"] for name in SHOWN}
