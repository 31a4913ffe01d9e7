"""A browser of the house: the owner lets it in by a chat, it switches the led on, and stops all."""

import asyncio
import html
import re
import time
from collections.abc import Callable
from http import HTTPStatus

from agent.console.guards import SESSION_COOKIE
from image.lib.emulated.bench import Bench
from image.lib.emulated.guest import MEMORY_MIB
from image.lib.trials.expectation import expect
from tests.fakes.browser import Browser

_UNIT = "barnacle-console.service"
_SENTENCE = re.compile(r'class="knock"><code>([^<]+)</code>')
# An emulated answer; a page of a started console takes less
_PATIENCE_S = 120.0
_LOOK_S = 0.5
# As much as its unit may take before the kernel slows it down
_MOST_MIB = 72
_LED = "led"


def run(bench: Bench, amount: int) -> str:
    del amount
    bench.with_board()
    return asyncio.run(_visited(bench))


async def _visited(bench: Bench) -> str:
    browser = Browser(f"http://127.0.0.1:{bench.guest.pages_port}")
    begun_s = time.monotonic()
    door = await browser.get("/")
    first_s = time.monotonic() - begun_s
    expect(
        door.status == HTTPStatus.UNAUTHORIZED,
        f"a stranger's page has status {door.status}: {door.text[:500]}",
    )
    expect(not re.search(rf"\b{_LED}\b", door.text), "a stranger is shown a pin")
    await _let_in(bench, browser)
    begun_s = time.monotonic()
    home = await browser.get("/")
    shown_s = time.monotonic() - begun_s
    expect(
        home.status == HTTPStatus.OK,
        f"the page of somebody who was let in has status {home.status}",
    )
    acted_s = await _until(lambda: _level(bench) == 1, browser, "/say", text="turn+on+the+led")
    stopped_s = await _until(lambda: _level(bench) == 0, browser, "/stop")
    refused_s = bench.outside.ask("turn on the led", "That did not work")
    await browser.get("/")
    await browser.send("/release")
    await _until(lambda: _level(bench) == 1, browser, "/say", text="turn+on+the+led")
    await _until(lambda: _level(bench) == 0, browser, "/say", text="turn+off+the+led")
    return (
        f"first page after {first_s:.1f} s, the console's start in it, the next after "
        f"{shown_s:.1f} s; led on after {acted_s:.1f} s, stopped after {stopped_s:.1f} s, refused "
        f"after {refused_s:.1f} s, released; {_taken(bench)}"
    )


async def _let_in(bench: Bench, browser: Browser) -> None:
    """Have Anna write the door's sentence, and wait until the page opens."""
    sentence = _SENTENCE.search(browser.text)
    expect(sentence, f"the door has no sentence: {browser.text}")
    assert sentence is not None
    bench.outside.write(html.unescape(sentence[1]))
    deadline_s = time.monotonic() + _PATIENCE_S
    while not browser.cookies.get(SESSION_COOKIE):
        expect(time.monotonic() < deadline_s, f"not let in: {bench.outside.shown()[-2:]}")
        await asyncio.sleep(_LOOK_S)
        await browser.get("/door")


async def _until(look: Callable[[], bool], browser: Browser, path: str, **form: str) -> float:
    """Send the form and wait for what must come of it; how long that took."""
    begun_s = time.monotonic()
    page = await browser.send(path, **form)
    expect(
        page.status == HTTPStatus.SEE_OTHER, f"{path} has status {page.status}: {page.text[:500]}"
    )
    while not look():
        taken_s = time.monotonic() - begun_s
        expect(taken_s < _PATIENCE_S, f"{path} {form}: nothing came of it in {taken_s:.0f} s")
        await asyncio.sleep(_LOOK_S / 10)
    return time.monotonic() - begun_s


def _level(bench: Bench) -> int:
    changes = bench.board.changes(_LED)
    return changes[-1][0] if changes else 0


def _taken(bench: Bench) -> str:
    """Return what the console takes; then it is ended, as it does by itself after ten minutes."""
    taken = int(bench.shell.run(f"systemctl show -P MemoryCurrent {_UNIT}")) / 2**20
    expect(taken <= _MOST_MIB, f"the console takes {taken:.0f} MiB of {MEMORY_MIB}")
    bench.shell.run(f"systemctl stop {_UNIT}")
    state = bench.shell.run("systemctl is-active barnacle-console.socket")
    expect(state == "active", f"nobody listens for the next browser: {state}")
    return f"the console's group {taken:.0f} MiB"
