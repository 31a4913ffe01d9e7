"""The whole agent with its console and the simulated board, as processes."""

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.console.guards import DOOR_COOKIE, SESSION_COOKIE
from scripts.lib.console_parts import WholeConsole, whole_console
from tests.fakes.board_sim import unavailable_reason
from tests.fakes.browser import Browser
from tests.waits import wait_until_sync

pytestmark = pytest.mark.skipif(unavailable_reason() is not None, reason=str(unavailable_reason()))
_CHROMIUM = shutil.which("chromium") or ""
# A busy machine loads a model for the first sentence
_BROWSER_TIMEOUT_S = 90


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[WholeConsole]:
    with whole_console(tmp_path) as made:
        yield made


async def entered(whole: WholeConsole) -> Browser:
    browser = Browser(whole.base)
    assert (await browser.get("/")).status == 401
    assert DOOR_COOKIE in browser.cookies
    code = await asyncio.to_thread(whole.code)
    assert (await browser.send("/door/enter", code=code)).status == 303
    assert browser.cookies[SESSION_COOKIE]
    return browser


async def test_a_browser_switches_an_output_and_stops_everything(whole: WholeConsole) -> None:
    browser = await entered(whole)
    assert "All is well" in (await browser.get("/")).text or "board" in browser.text
    events, writer = await browser.open("board")
    await events.until("pin-0-led", "off")
    await browser.get("/board")
    assert (await browser.send("/say", text="turn+the+led+on", page="board")).status == 303
    # Read back from the board's own pin
    assert "held by the agent" in await events.until("pin-0-led", "value on")
    assert whole.sim.value("led") == 1
    await browser.get("/audit")
    assert "board_gpio_write" in browser.text
    await browser.send("/stop")
    await events.until("state", "Emergency stop")
    await asyncio.to_thread(wait_until_sync, lambda: whole.sim.value("led") == 0)
    for name in ("", "chat", "board", "readings", "jobs", "memory", "people", "more"):
        assert (await browser.get(f"/{name}")).status == 200, name
    writer.close()


@pytest.mark.skipif(not _CHROMIUM, reason="chromium is not installed")
def test_a_real_browser_shows_the_door(whole: WholeConsole, tmp_path: Path) -> None:
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile"]
    done = subprocess.run(
        [_CHROMIUM, *options, "--virtual-time-budget=500", "--dump-dom", f"{whole.base}/"],
        capture_output=True,
        check=True,
        text=True,
        timeout=_BROWSER_TIMEOUT_S,
    )
    assert "let this browser in" in done.stdout
    # The scripts ran under the policy: this class is theirs
    assert "htmx" in done.stdout
    assert "Content Security Policy" not in done.stderr
