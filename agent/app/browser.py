"""Composition of the browser: its program, its sandbox and its tools, where it is configured."""

import asyncio
import logging

from agent.errors import BrowserFailed, ConfigRefused
from agent.machine.readings import Readings
from agent.tools.base import AnyTool
from agent.tools.browser.desk import BrowserDesk
from agent.tools.browser.installed import browser_sandbox, find_program, trouble_with_browser
from agent.tools.browser.process import BrowserSetup
from agent.tools.browser.tools import browser_tools
from agent.tools.picture_program import Album
from agent.tools.settings import BrowserSettings
from agent.tools.web import Web

_log = logging.getLogger(__name__)


def tools_of(wanted: BrowserSettings, web: Web, album: Album, readings: Readings) -> list[AnyTool]:
    """Return the tools; none where this machine has no browser or cannot bear one."""
    if trouble := trouble_with_browser(wanted.program, readings):
        _log.error("browser: no tools (reason=%s)", trouble)
        return []

    async def setup() -> BrowserSetup:
        return await _setup(wanted, web, readings)

    return browser_tools(BrowserDesk(web, setup), album)


async def _setup(wanted: BrowserSettings, web: Web, readings: Readings) -> BrowserSetup:
    choice = await asyncio.to_thread(browser_sandbox)
    if choice.sandbox is None:
        raise BrowserFailed(f"the browser cannot run isolated: {choice.trouble}")
    program = find_program(wanted.program)
    if not program:
        raise BrowserFailed(trouble_with_browser(wanted.program, readings))
    return BrowserSetup(
        program,
        choice.sandbox,
        web,
        wanted.memory_mb,
        lambda: readings.memory_mb().get("MemAvailable", 0),
    )


async def probe(wanted: BrowserSettings, readings: Readings) -> str:
    """Return how the browser is, in a sentence.

    Raises:
        ConfigRefused: it cannot be used here.
    """
    if trouble := trouble_with_browser(wanted.program, readings):
        raise ConfigRefused(trouble)
    choice = await asyncio.to_thread(browser_sandbox)
    if choice.sandbox is None:
        raise ConfigRefused(f"the browser cannot run isolated: {choice.trouble}")
    return f"{find_program(wanted.program)} can be started in {choice.sandbox.name}"
