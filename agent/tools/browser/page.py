"""One page of a browser: opened, read, and used by clicks and keys.

Requests leave only while one of these calls runs. A number of an element means what the model was
shown; if it looks different by now nothing is done.
"""

import asyncio
import base64
import binascii
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from agent.errors import AddressRefused, BrowserFailed
from agent.security.web_addresses import WebPlace
from agent.tools.browser.page_script import INSTALL
from agent.tools.browser.process import BrowserProcess
from agent.tools.browser.traffic import NO_RULES, UrlRules
from agent.tools.browser.view import PageElement, PageView, reading_of
from agent.tools.web import Web, seen

# A page on a slow line; what has come by then is what there is
LOAD_TIMEOUT_S = 25.0
# After the last request: what a script adds to a page comes by then
QUIET_S = 0.6
# A page that never rests is read as it is
SETTLE_TIMEOUT_S = 6.0
_LOOK_EVERY_S = 0.05
# A script of the page may hold everything up
_SCRIPT_S = 10.0
_WORLD = "barnacle"
_NOTHING: Mapping[str, object] = {}
_QUALITY = 70
_GONE = "the page has changed since it was read: read it again"
# No number means one thing today and another tomorrow, whatever browser it was in
_numbers = itertools.count(1)


class BrowserPage:
    """The page of one browser."""

    def __init__(self, process: BrowserProcess, web: Web) -> None:
        self._process = process
        self._web = web
        self._world = 0
        self._decided = ""
        self._shown: dict[int, PageElement] = {}
        self._next = next(_numbers)
        self.view: PageView | None = None

    @property
    def place(self) -> WebPlace | None:
        return self._process.traffic.place

    def element(self, number: int) -> PageElement | None:
        """Return the element as it was shown."""
        return self._shown.get(number)

    async def open(self, url: str, *, rules: UrlRules = NO_RULES) -> PageView:
        """Load a page.

        Args:
            rules: where they compare URLs only the page of this one is shown, until another is
                opened.

        Raises:
            BrowserFailed: it cannot be shown.
        """
        place = self._web.place_of(url)
        self._decided = place.url
        async with self._act(place, rules):
            told = await self._tell("Page.navigate", {"url": place.url}, LOAD_TIMEOUT_S)
            if trouble := str(told.get("errorText", "")):
                return await self._not_loaded(place, seen(trouble)[:80])
            await self._settled(LOAD_TIMEOUT_S)
            return await self._viewed()

    async def read(self) -> PageView:
        """Read the page as it is now; nothing goes out."""
        return await self._viewed()

    async def click(self, number: int, *, rules: UrlRules = NO_RULES) -> PageView:
        """Click on an element, as a person would with a mouse."""
        self._known(number)
        async with self._act(self._known_place(), rules, may_send=True):
            spot = await self._asked(f"place({number})")
            if not spot.get("is_free"):
                raise BrowserFailed("something on the page covers this element")
            await self._mouse(float(spot["x"]), float(spot["y"]))
            await self._settled(SETTLE_TIMEOUT_S)
            return await self._viewed()

    async def type(
        self, number: int, text: str, *, enter: bool, rules: UrlRules = NO_RULES
    ) -> PageView:
        """Replace what is in a field, or choose of a list."""
        element = self._known(number)
        if element.kind in {"password", "file"}:
            raise BrowserFailed(f"fields for a {element.kind} are not filled")
        async with self._act(self._known_place(), rules, may_send=True):
            if element.kind == "choice":
                chosen = await self._asked(f"choose({number}, {json.dumps(text)})")
                if not chosen.get("is_chosen"):
                    raise BrowserFailed("the list has no such entry")
            else:
                if not (await self._asked(f"enter({number})")).get("has_focus"):
                    raise BrowserFailed("nothing can be typed there")
                await self._tell("Input.insertText", {"text": text})
            if enter:
                await self._press_enter()
            await self._settled(SETTLE_TIMEOUT_S)
            return await self._viewed()

    async def screenshot(self) -> bytes:
        """Return a picture of what is seen of the page."""
        told = await self._tell("Page.captureScreenshot", {"format": "jpeg", "quality": _QUALITY})
        try:
            return base64.b64decode(str(told.get("data", "")), validate=True)
        except binascii.Error as err:
            raise BrowserFailed("the browser gave no picture") from err

    @asynccontextmanager
    async def _act(
        self, place: WebPlace, rules: UrlRules, *, may_send: bool = False
    ) -> AsyncIterator[None]:
        """Let requests out for one call, and cut off what is left of them."""
        self._refuse_dead()
        traffic = self._process.traffic
        with traffic.opened(place, may_send=may_send, only=self._decided, rules=rules):
            try:
                yield
            finally:
                await self._process.proxy.drop_connections()

    async def _not_loaded(self, place: WebPlace, trouble: str) -> PageView:
        """Return the view of a page that did not come: nothing can be used on it."""
        view = await self._viewed()
        self._shown = {}
        reason = self._process.traffic.tally.refusal or f"the browser says {trouble}"
        nothing = msgspec.structs.replace(view.reading, title="", text="", elements=[], left=0)
        self.view = msgspec.structs.replace(view, url=place.url, reading=nothing, trouble=reason)
        return self.view

    def _known_place(self) -> WebPlace:
        """Return the place of the page as it is, which the person was shown."""
        if self.view is None or self.view.trouble:
            raise BrowserFailed("no page is open: open one first")
        try:
            return self._web.place_of(self.view.url)
        except AddressRefused as err:
            raise BrowserFailed(f"the page cannot be used: {err}") from err

    def _known(self, number: int) -> PageElement:
        found = self._shown.get(number)
        if found is None:
            raise BrowserFailed("there is no element with this number: read the page again")
        return found

    async def _asked(self, call: str) -> dict[str, Any]:
        """Return what our script says about an element; it must look as it was shown."""
        told = await self._evaluated(f"barnacle.{call}")
        try:
            found = json.loads(told)
        except ValueError as err:
            raise BrowserFailed(_GONE) from err
        if not isinstance(found, dict):
            raise BrowserFailed(_GONE)
        return found

    async def _viewed(self) -> PageView:
        self._refuse_dead()
        frame = await self._tell("Page.getFrameTree")
        url = str(frame.get("frameTree", {}).get("frame", {}).get("url", ""))
        world = await self._tell(
            "Page.createIsolatedWorld",
            {"frameId": self._process.guard.page, "worldName": _WORLD},
        )
        self._world = int(world.get("executionContextId", 0))
        await self._evaluated(INSTALL)
        reading = reading_of(await self._evaluated(f"barnacle.read({self._next})"), self._next)
        for _ in range(self._next, reading.next):
            self._next = next(_numbers)
        self._shown = {one.number: one for one in reading.elements}
        tally = self._process.traffic.tally
        self.view = PageView(
            seen(url)[:2048],
            msgspec.structs.replace(reading, title=seen(reading.title), text=seen(reading.text)),
            [
                f"{words} ({count} times)" if count > 1 else words
                for words, count in tally.notes.items()
            ],
            tally.leads_to,
            list(tally.sent),
        )
        return self.view

    async def _evaluated(self, expression: str) -> str:
        try:
            asked = {"expression": expression, "contextId": self._world, "returnByValue": True}
            told = await self._tell("Runtime.evaluate", asked)
        except BrowserFailed as err:
            if not self._process.is_usable:
                raise
            raise BrowserFailed(f"{_GONE} ({err})") from err
        if "exceptionDetails" in told:
            raise BrowserFailed("the page cannot be read: it breaks what reads it")
        return str(told.get("result", {}).get("value", ""))

    async def _settled(self, timeout_s: float) -> None:
        """Wait until the page has loaded and asks for nothing more, or for long enough."""
        loop, guard = asyncio.get_running_loop(), self._process.guard
        end_s, begun, quiet_since_s = loop.time() + timeout_s, guard.begun, loop.time()
        while (now_s := loop.time()) < end_s and not guard.end_reason and self._process.is_alive:
            if guard.begun != begun or guard.is_loading:
                begun, quiet_since_s = guard.begun, now_s
            if now_s - quiet_since_s >= QUIET_S:
                return
            await asyncio.sleep(_LOOK_EVERY_S)
        if guard.is_loading:
            self._process.tools.tell("Page.stopLoading", session=guard.session)

    async def _mouse(self, x: float, y: float) -> None:
        moved = {"type": "mouseMoved", "x": x, "y": y}
        await self._tell("Input.dispatchMouseEvent", moved)
        for kind in ("mousePressed", "mouseReleased"):
            pressed = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
            await self._tell("Input.dispatchMouseEvent", pressed)

    async def _press_enter(self) -> None:
        key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}
        await self._tell("Input.dispatchKeyEvent", {"type": "keyDown", "text": "\r", **key})
        await self._tell("Input.dispatchKeyEvent", {"type": "keyUp", **key})

    async def _tell(
        self, method: str, params: Mapping[str, object] = _NOTHING, limit_s: float = _SCRIPT_S
    ) -> dict[str, Any]:
        session = self._process.guard.session
        try:
            return await self._process.tools.call(method, params, session, limit_s)
        except BrowserFailed:
            # Its end has a better reason than the silence that follows
            if self._process.guard.end_reason or self._process.end_reason:
                self._refuse_dead()
            raise

    def _refuse_dead(self) -> None:
        if reason := self._process.guard.end_reason:
            raise BrowserFailed(f"the browser ended: {reason}")
        if not self._process.is_alive:
            reason = self._process.end_reason or "it exceeded its limit of memory or time"
            raise BrowserFailed(f"the browser ended: {reason}")
