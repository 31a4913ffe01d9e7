"""Measures the console: its first page, the way of a pin to a page, and what it takes of memory.

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

from agent.console.guards import SESSION_COOKIE
from scripts.lib.bench.console_rows import SLOWED_BY, Found, Idle, rows
from scripts.lib.bench.table import show
from scripts.lib.console_browser import CHROMIUM, tools
from scripts.lib.console_parts import WholeConsole, rss_kib, whole_console
from tests.fakes.browser import Browser

# Each has several browsers open
BROWSERS, _PEOPLE = 20, 4
CHANGES = 60
_STARTS = 3
_PAGES = 7
_NOTE_LIFE = (
    "document.addEventListener('htmx:sseOpen', () => {"
    " document.body.dataset.lives = performance.now(); }, {once: true})"
)
_FILE = re.compile(r'(?:src|href)="(/static/[^"]+)"')
# A board has been found and the agent's first minute of work is over
_SETTLE_S = 6.0
# Between two changes, so that no two of them meet in one look
_APART_S = (0.15, 0.4)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench-console", description=__doc__)
    parser.add_argument(
        "--churn-s", type=float, default=60.0, help="how long 20 browsers come and go"
    )
    wanted = parser.parse_args(words)
    found = asyncio.run(_measured(wanted.churn_s))
    without = statistics.median(_idle_kib(with_console=False) for _ in range(_STARTS))
    with_it = statistics.median(_idle_kib(with_console=True) for _ in range(_STARTS))
    churned = f"{BROWSERS} browsers come and go for {wanted.churn_s:.0f} s"
    table = list(rows(found, Idle(round(without), round(with_it)), churned))
    show(table)
    return int(any(row.held is False for row in table))


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
        page_bytes, requests = await _first_page(people[0])
        session = people[0].cookies[SESSION_COOKIE]
        usable_ms = await asyncio.to_thread(_usable_ms, whole, session)
        pin_ms = await _pin_times(whole, people[0])
        # What the first browsers load, before it is looked whether more is held after others
        await _churned(whole, people, min(churn_s, 10.0))
        before_kib = rss_kib(whole.console.pid)
        await _churned(whole, people, churn_s)
        return Found(
            page_bytes,
            requests,
            usable_ms,
            pin_ms,
            before_kib,
            rss_kib(whole.console.pid),
            rss_kib(whole.daemon.pid),
            await _left(whole),
        )


def _usable_ms(whole: WholeConsole, session: str) -> list[float]:
    """Return how long the first page takes, nothing cached and the CPU slowed down, until it lives.

    It lives when its stream is open: then its script has run and its buttons work.
    """
    api, _ = tools()
    taken_ms = []
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for _ in range(_PAGES):
            context = browser.new_context(viewport={"width": 360, "height": 760})
            cookie = {"name": SESSION_COOKIE, "value": session, "url": whole.base}
            context.add_cookies([cookie])
            page = context.new_page()
            page.add_init_script(_NOTE_LIFE)
            context.new_cdp_session(page).send(
                "Emulation.setCPUThrottlingRate", {"rate": SLOWED_BY}
            )
            page.goto(f"{whole.base}/")
            page.wait_for_selector("[data-lives]", state="attached")
            taken_ms.append(float(page.evaluate("document.body.dataset.lives")))
            context.close()
        browser.close()
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


async def _churned(whole: WholeConsole, people: Sequence[Browser], for_s: float) -> None:
    """Have 20 browsers open and leave pages at random, each from an address of its own."""
    ends_s = time.monotonic() + for_s

    async def come_and_go(number: int) -> None:
        browser = Browser(whole.base, f"127.0.1.{number + 1}")
        browser.cookies = people[number % len(people)].cookies
        while time.monotonic() < ends_s:
            page = random.choice(("board", "home", "chat"))  # noqa: S311 - not a secret
            events, writer = await browser.open(page)
            await events.until("home" if page != "board" else "pin-0-led")
            await asyncio.sleep(random.uniform(0, 2))  # noqa: S311 - as above
            writer.close()

    await asyncio.gather(*map(come_and_go, range(BROWSERS)))


async def _left(whole: WholeConsole) -> int:
    """Return the console's connections to browsers that have gone."""
    assert whole.console is not None
    port = int(whole.base.rpartition(":")[2])
    for _ in range(60):
        left = _established(port)
        if not left:
            return 0
        await asyncio.sleep(1)
    return left


def _established(port: int) -> int:
    """Return the connections at the port that are open or not let go of."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    here = f":{port:04X}"
    return sum(row[1].endswith(here) and row[3] in {"01", "08"} for row in rows)
