"""The whole agent with its console and the simulated board, as processes."""

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.console.guards import DOOR_COOKIE, SESSION_COOKIE
from agent.link import reflex_slots
from agent.link.reflexes import Condition, ReflexRule, pack_rule
from scripts.lib.console_parts import WholeConsole, whole_console
from tests.fakes.board_sim import unavailable_reason
from tests.fakes.browser import Browser
from tests.fakes.running_board import running
from tests.waits import wait_until, wait_until_sync

pytestmark = pytest.mark.skipif(unavailable_reason() is not None, reason=str(unavailable_reason()))
_CHROMIUM = shutil.which("chromium") or ""
# A busy machine loads a model for the first sentence
_BROWSER_TIMEOUT_S = 90
_TRIES = 4
# A page a person reloads; asked all the time it would be refused
_LOOK_S = 0.4
_DARK = ReflexRule("when_dark", (Condition("button", "equal", "on"),), "led", "on", 3600, 5)


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
    events, writer = await browser.open("board")
    try:
        await events.until("pin-0-led", "off")
        await ordered(browser, whole, "turn+the+led+on")
        assert "held by the agent" in await events.until("pin-0-led", "value on")
        await browser.get("/audit")
        assert "board_gpio_write" in browser.text
        await browser.send("/stop")
        await events.until("state", "Emergency stop")
        await asyncio.to_thread(wait_until_sync, lambda: _is_led(whole, 0))
    finally:
        writer.close()
    for name in ("", "chat", "board", "readings", "jobs", "memory", "people", "more"):
        assert (await browser.get(f"/{name}")).status == 200, name
    for name, shown in (("models", "offline"), ("channels", "console"), ("log", "emergency stop")):
        assert (await browser.get(f"/{name}")).status == 200, name
        assert shown in browser.text, name


async def ordered(browser: Browser, whole: WholeConsole, text: str) -> None:
    """Say it until it is done: a board that a busy machine did not serve is not asked twice."""
    for _ in range(_TRIES):
        await browser.get("/board")
        assert (await browser.send("/say", text=text, page="board")).status == 303
        await wait_until(lambda: is_answered(browser), look_s=_LOOK_S)
        if _is_led(whole, 1):
            return
    raise AssertionError(f"{browser.text}\n{whole.daemon.log()}")


async def is_answered(browser: Browser) -> bool:
    await browser.get("/chat")
    return "bubble mine" in browser.text and "thinking" not in browser.text


def _is_led(whole: WholeConsole, value: int) -> bool:
    changes = whole.sim.changes("led")
    return bool(changes) and changes[-1][0] == value


async def test_a_reflex_rests_acts_and_goes_by_the_buttons_of_its_page(
    whole: WholeConsole, tmp_path: Path
) -> None:
    # The board keeps it while the agent is away
    whole.daemon.kill()
    async with running(whole.sim, tmp_path) as board:
        assert board.manifest is not None
        await reflex_slots.put(board, pack_rule(board.manifest, _DARK))
    await asyncio.to_thread(whole.daemon.start)
    browser = await entered(whole)
    await wait_until(lambda: shows(browser, "/board", "pause the reflex when_dark"), look_s=_LOOK_S)
    await browser.send("/say", text="pause+the+reflex+when_dark", page="board")
    await wait_until(
        lambda: shows(browser, "/board", "resume the reflex when_dark"), look_s=_LOOK_S
    )
    events, writer = await browser.open("board")
    try:
        await browser.send("/say", text="resume+the+reflex+when_dark", page="board")
        # To let it act is as much as to add it: the gate asks
        asked = await events.until("questions", "when_dark")
        number = asked.partition('name="question" value="')[2].partition('"')[0]
        await browser.send("/answer", question=number, answer="yes", page="board")
        await events.until("talk", "acts again")
    finally:
        writer.close()
    await browser.get("/board")
    assert "pause the reflex when_dark" in browser.text
    await browser.send("/say", text="delete+the+reflex+when_dark", page="board")
    await wait_until(lambda: shows(browser, "/board", "no reflexes"), look_s=_LOOK_S)


async def shows(browser: Browser, path: str, words: str) -> bool:
    return (await browser.get(path)).status == 200 and words in browser.text


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
