"""Measures the console: its first page, the way of a pin to a page, what it takes, and its wall.

Agent, console and board are a process each; the pin is the board's own, and the page is open.
"""

import argparse
import asyncio
import random
import re
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from agent.console.guards import SESSION_COOKIE
from scripts.lib.bench.console_crowd import BROWSERS, closed_kib, crowd, open_files
from scripts.lib.bench.console_rows import SLOWED_BY, Found, Idle, Wall, rows
from scripts.lib.bench.console_wall import exposure, grave_findings, hostile
from scripts.lib.bench.table import show
from scripts.lib.console_browser import opened
from scripts.lib.console_parts import WholeConsole, rss_kib, whole_console
from tests.fakes.browser import Browser

Part = TypeVar("Part")

# Each has several browsers open
_PEOPLE = 4
CHANGES = 60
_STARTS = 3
_PAGES = 7
# A page lives when its stream is open: then its script has run and its buttons work
_NOTE_LIFE = """
window.EventSource = class extends window.EventSource {
  constructor(...address) {
    super(...address);
    this.addEventListener("open", () => { document.body.dataset.lives = performance.now(); });
  }
};
"""
_LIVES_MS = """Math.max(document.body.dataset.lives,
    performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd)"""
_FILE = re.compile(r'(?:src|href)="(/static/[^"]+)"')
# A board has been found and the agent's first minute of work is over
_SETTLE_S = 6.0
# Between two changes, so that no two of them meet in one look
_APART_S = (0.15, 0.4)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench-console", description=__doc__)
    parser.add_argument(
        "--churn-s", type=float, default=3600.0, help="how long 20 browsers come and go"
    )
    parser.add_argument(
        "--first-page", action="store_true", help="measure nothing but the first page"
    )
    wanted = parser.parse_args(words)
    if wanted.first_page:
        print("usable after ms:", *map(round, asyncio.run(_first_pages())))
        return 0
    wall = _told(_wall())
    without = statistics.median(_idle_kib(with_console=False) for _ in range(_STARTS))
    with_it = statistics.median(_idle_kib(with_console=True) for _ in range(_STARTS))
    idle = _told(Idle(round(without), round(with_it)))
    found = asyncio.run(_measured(wanted.churn_s))
    churned = f"{BROWSERS} browsers come and go for {wanted.churn_s / 60:g} min"
    table = list(rows(found, idle, wall, churned))
    show(table)
    return int(any(row.held is False for row in table))


def _told(part: Part) -> Part:
    """Return what was measured, and print it at once: the whole takes an hour."""
    print(f"bench-console: {part}", flush=True)
    return part


def _idle_kib(*, with_console: bool) -> int:
    """Return the agent's memory while no page is open."""
    with (
        tempfile.TemporaryDirectory(prefix="barnacle-console-") as folder,
        whole_console(Path(folder), with_console=with_console) as whole,
    ):
        time.sleep(_SETTLE_S)
        return rss_kib(whole.daemon.pid)


async def _measured(churn_s: float) -> Found:
    with (
        tempfile.TemporaryDirectory(prefix="barnacle-console-") as folder,
        whole_console(Path(folder)) as whole,
    ):
        assert whole.console is not None
        people = [await _entered(whole) for _ in range(_PEOPLE)]
        # Nobody has a page open yet
        held = open_files(whole.console.pid)
        page_bytes, requests = await _first_page(people[0])
        session = people[0].cookies[SESSION_COOKIE]
        usable_ms = _told(await asyncio.to_thread(_usable_ms, whole, session))
        pin_ms = _told(await _pin_times(whole, people[0]))
        # The ten idle minutes of one console are among those of the other's visitors
        closing = asyncio.ensure_future(closed_kib(whole))
        crowded = _told(await crowd(whole, people, churn_s, held))
        return Found(page_bytes, requests, usable_ms, pin_ms, crowded, await closing)


async def _first_pages() -> list[float]:
    with (
        tempfile.TemporaryDirectory(prefix="barnacle-console-") as folder,
        whole_console(Path(folder)) as whole,
    ):
        session = (await _entered(whole)).cookies[SESSION_COOKIE]
        return await asyncio.to_thread(_usable_ms, whole, session)


def _wall() -> Wall:
    with (
        tempfile.TemporaryDirectory(prefix="barnacle-console-") as folder,
        whole_console(Path(folder)) as whole,
    ):
        sent, through = asyncio.run(_attacked(whole))
        found = grave_findings(whole)
    for line in (*through, *found):
        print(f"bench-console: {line}")
    return Wall(sent, len(through), len(found), exposure())


async def _attacked(whole: WholeConsole) -> tuple[int, list[str]]:
    return await hostile(whole, await _entered(whole))


def _usable_ms(whole: WholeConsole, session: str) -> list[float]:
    """Return how long the first page takes until it lives: nothing cached, the CPU slowed down."""
    taken_ms = []
    with opened() as it:
        for _ in range(_PAGES):
            context = it.browser.new_context(viewport={"width": 360, "height": 760})
            cookie = {"name": SESSION_COOKIE, "value": session, "url": whole.base}
            context.add_cookies([cookie])
            page = context.new_page()
            page.add_init_script(_NOTE_LIFE)
            context.new_cdp_session(page).send(
                "Emulation.setCPUThrottlingRate", {"rate": SLOWED_BY}
            )
            page.goto(f"{whole.base}/")
            page.wait_for_selector("[data-lives]", state="attached")
            taken_ms.append(float(page.evaluate(_LIVES_MS)))
            context.close()
    return taken_ms


async def _entered(whole: WholeConsole) -> Browser:
    browser = Browser(whole.base)
    await browser.get("/")
    await browser.send("/door/enter", code=await asyncio.to_thread(whole.code))
    assert browser.cookies[SESSION_COOKIE]
    return browser


async def _first_page(browser: Browser) -> tuple[int, int]:
    """Return the bytes that come and the requests for them, with nothing cached."""
    total = await browser.size("/")
    files = sorted(set(_FILE.findall(browser.text)))
    for file in files:
        total += await browser.size(file)
    return total, 1 + len(files) + 1


async def _pin_times(whole: WholeConsole, browser: Browser) -> list[float]:
    """Return how long a change of the board's input takes to the open page, in milliseconds."""
    taken_ms = []
    events, writer = await browser.open("board")
    await events.until("pin-0-button", "value off")
    for number in range(CHANGES):
        await asyncio.sleep(random.uniform(*_APART_S))  # noqa: S311 - not a secret
        is_on = number % 2 == 0
        begun_s = time.perf_counter()
        await asyncio.to_thread(whole.sim.set, button=int(is_on))
        await events.until("pin-0-button", "value on" if is_on else "value off")
        taken_ms.append((time.perf_counter() - begun_s) * 1000)
    writer.close()
    return taken_ms
