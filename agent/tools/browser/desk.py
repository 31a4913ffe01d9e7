"""The one browser of this agent: started when a page is opened, ended when nobody uses it.

It belongs to the conversation that opened it. Whatever goes wrong in a call, and each end of a call
before its time, ends the browser with it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from agent.errors import BrowserFailed
from agent.security.web_addresses import WebPlace
from agent.tools.browser.installed import MIN_FREE_MB
from agent.tools.browser.page import BrowserPage
from agent.tools.browser.process import BrowserProcess, BrowserSetup
from agent.tools.browser.traffic import NO_RULES, UrlRules
from agent.tools.browser.view import PageElement, PageView
from agent.tools.web import Web, is_elsewhere

_log = logging.getLogger(__name__)

# The start on the slowest card, a page that takes its time, and its reading
CALL_TIMEOUT_S = 90.0
# As long as an owner takes to answer a question; the browser holds 300 MB meanwhile
IDLE_S = 240.0
_NONE = "no page is open here: open one first"

# Finds the browser and its sandbox; raises BrowserFailed where one is missing
MakeSetup = Callable[[], Awaitable[BrowserSetup]]


class BrowserDesk:
    """Starts, lends and ends the browser; handles one call at a time."""

    def __init__(self, web: Web, make_setup: MakeSetup, idle_s: float = IDLE_S) -> None:
        self.web = web
        self._make_setup = make_setup
        self._idle_s = idle_s
        self._turn = asyncio.Lock()
        self._process: BrowserProcess | None = None
        self._page: BrowserPage | None = None
        self._whose = ""
        self._idle: asyncio.TimerHandle | None = None
        # Kept so that nobody loses it before it is done
        self._leaving: asyncio.Task[None] | None = None

    def element(self, number: int) -> PageElement | None:
        """Return an element of the page as it was shown; None if there is none."""
        return self._page.element(number) if self._page is not None else None

    @property
    def url(self) -> str:
        """Return the URL of the page; "" if none is open."""
        view = self._page.view if self._page is not None else None
        return view.url if view is not None else ""

    async def open(self, whose: str, url: str, *, rules: UrlRules = NO_RULES) -> PageView:
        """Load a page; another site is a new browser, with nothing of the last one.

        Args:
            rules: where they compare URLs, each page that nobody opened by its URL is held back,
                here and below.

        Raises:
            BrowserFailed: it cannot be shown.
            AddressRefused: nothing of ours may go there.
        """
        place = self.web.place_of(url)
        async with self._alone():
            if not self._fits(whose, place):
                await self._end()
                await self._begin(whose)
            return await self._lent(whose).open(place.url, rules=rules)

    async def read(self, whose: str) -> PageView:
        """Read the page again."""
        async with self._alone():
            return await self._lent(whose).read()

    async def click(self, whose: str, number: int, *, rules: UrlRules = NO_RULES) -> PageView:
        async with self._alone():
            return await self._lent(whose).click(number, rules=rules)

    async def type(
        self, whose: str, number: int, text: str, *, enter: bool, rules: UrlRules = NO_RULES
    ) -> PageView:
        async with self._alone():
            return await self._lent(whose).type(number, text, enter=enter, rules=rules)

    async def screenshot(self, whose: str) -> bytes:
        async with self._alone():
            return await self._lent(whose).screenshot()

    async def close(self, whose: str) -> None:
        """End the browser of a conversation."""
        async with self._turn:
            if self._whose == whose:
                await self._end()

    async def aclose(self) -> None:
        """End the browser, whoever uses it."""
        async with self._turn:
            await self._end()

    def _fits(self, whose: str, place: WebPlace) -> bool:
        was = self._page.place if self._page is not None else None
        is_alive = self._process is not None and self._process.is_alive
        return (
            is_alive and self._whose == whose and was is not None and not is_elsewhere(was, place)
        )

    def _lent(self, whose: str) -> BrowserPage:
        if self._page is None or self._whose != whose:
            raise BrowserFailed(_NONE)
        return self._page

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Hold the browser for one call; a call that is cancelled or too long ends it."""
        async with self._turn:
            if self._idle is not None:
                self._idle.cancel()
            is_done = False
            try:
                async with asyncio.timeout(CALL_TIMEOUT_S):
                    yield
                is_done = True
            except TimeoutError as err:
                raise BrowserFailed(f"it took longer than {CALL_TIMEOUT_S:.0f} s") from err
            except BrowserFailed:
                # A wrong number ends nothing
                is_done = self._process is not None and self._process.is_usable
                raise
            finally:
                if is_done:
                    self._idle = asyncio.get_running_loop().call_later(self._idle_s, self._leave)
                else:
                    await self._end()

    async def _begin(self, whose: str) -> None:
        setup = await self._make_setup()
        if (free_mb := setup.free_mb()) < MIN_FREE_MB:
            raise BrowserFailed(
                f"a browser needs {MIN_FREE_MB} MB of free memory, and {free_mb} MB are free"
            )
        self._process = BrowserProcess(setup)
        await self._process.start()
        self._page, self._whose = BrowserPage(self._process, self.web), whose
        _log.info("browser: started (program=%s)", setup.program)

    async def _end(self) -> None:
        process, self._process, self._page, self._whose = self._process, None, None, ""
        if process is not None:
            await process.close()
            _log.info("browser: ended")

    def _leave(self) -> None:
        self._leaving = asyncio.create_task(self.aclose())
