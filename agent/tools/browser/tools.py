"""Tools for a browser: open a page, read it, click, type, take a picture, close it.

All that a page shows is anybody's words. A click or a key may send whatever the page likes to its
own site, so each of them is an effect that the gate decides; nothing else of a page can send.
"""

from functools import partial
from typing import Annotated, Protocol

from msgspec import Meta

from agent.errors import BadArguments, BarnacleError
from agent.messages import Effect, ToolResult
from agent.passage import Provenance, own, read
from agent.security.act import Pattern
from agent.security.shares import NOTHING_PRIVATE
from agent.text.printable import printable_line
from agent.tools.base import AnyTool, Arguments, NoArguments, Tool, ToolContext
from agent.tools.browser.traffic import NO_RULES, UrlRules
from agent.tools.browser.view import PageElement, PageView
from agent.tools.files import in_thread
from agent.tools.picture_program import Album, keep
from agent.tools.web import Web
from agent.tools.web_fetch import UrlArguments, refuse_unreachable

MAX_TYPED_CHARS = 4000
_MAX_SHOWN_CHARS = 120
_MAX_URL_CHARS = 200
_NO_NUMBER = own("no element of the page has this number: read the page and take one of those")

_Number = Annotated[int, Meta(ge=1, description="an element of the page as it was read")]


class Browsing(Protocol):
    """The browser, for one call at a time.

    Args:
        whose: the conversation that opened it; nobody else sees its page.
    """

    web: Web

    @property
    def url(self) -> str: ...

    def element(self, number: int) -> PageElement | None: ...

    async def open(self, whose: str, url: str, *, rules: UrlRules = NO_RULES) -> PageView: ...

    async def read(self, whose: str) -> PageView: ...

    async def click(self, whose: str, number: int, *, rules: UrlRules = NO_RULES) -> PageView: ...

    async def type(
        self, whose: str, number: int, text: str, *, enter: bool, rules: UrlRules = NO_RULES
    ) -> PageView: ...

    async def screenshot(self, whose: str) -> bytes: ...

    async def close(self, whose: str) -> None: ...


class OpenArguments(UrlArguments, frozen=True):
    """URL of a page."""


class PageTextArguments(Arguments, frozen=True):
    """Part of the page's text."""

    part: Annotated[int, Meta(ge=1, le=100)] = 1


class ClickArguments(Arguments, frozen=True):
    """Element to click on."""

    number: _Number


class TypeArguments(Arguments, frozen=True):
    """Field, and what comes into it instead of what it holds."""

    number: _Number
    text: Annotated[str, Meta(max_length=MAX_TYPED_CHARS)]
    enter: Annotated[bool, Meta(description="press Enter afterwards, which may send a form")] = (
        False
    )


def browser_tools(browser: Browsing, album: Album) -> list[AnyTool]:
    """Return the tools of one browser."""
    return [
        BrowserOpenTool(browser),
        BrowserReadTool(browser),
        BrowserClickTool(browser),
        BrowserTypeTool(browser),
        BrowserScreenshotTool(browser, album),
        BrowserCloseTool(browser),
    ]


class BrowserOpenTool(Tool[OpenArguments]):
    """Opens a page with its scripts."""

    reads = Provenance.WEB
    name = "browser_open"
    description = own("Open a page in a browser, where web_fetch is not enough: scripts, forms.")
    effect = Effect.NETWORK
    shown = NOTHING_PRIVATE
    arguments_type = OpenArguments
    reads_on = True

    def __init__(self, browser: Browsing) -> None:
        self._browser = browser

    def parse(self, arguments_json: str) -> OpenArguments:
        """Parse the arguments and refuse a forbidden address before anybody is asked."""
        arguments = super().parse(arguments_json)
        refuse_unreachable(self._browser.web, arguments.url)
        return arguments

    def always_for(self, arguments: OpenArguments) -> Pattern:
        origin = self._browser.web.place_of(arguments.url).origin
        return Pattern({"origin": origin}, f"opening any page of {origin} in a browser")

    async def execute(self, arguments: OpenArguments, context: ToolContext) -> ToolResult:
        rules = _rules(context)
        try:
            view = await self._browser.open(_whose(context), arguments.url, rules=rules)
        except BarnacleError as err:
            return ToolResult.failed(err.words(self.reads, arguments.url))
        return _told(view)


class BrowserReadTool(Tool[PageTextArguments]):
    """Reads the open page as it is now."""

    reads = Provenance.WEB
    name = "browser_read"
    description = own("Read the page that is open in the browser, in parts; nothing is sent.")
    effect = Effect.READ
    shown = NOTHING_PRIVATE
    arguments_type = PageTextArguments
    reads_on = True

    def __init__(self, browser: Browsing) -> None:
        self._browser = browser

    async def execute(self, arguments: PageTextArguments, context: ToolContext) -> ToolResult:
        try:
            view = await self._browser.read(_whose(context))
        except BarnacleError as err:
            return ToolResult.failed(err.words(self.reads, self._browser.url))
        return _told(view, arguments.part)


class BrowserClickTool(Tool[ClickArguments]):
    """Clicks on an element of the open page."""

    reads = Provenance.WEB
    name = "browser_click"
    description = own("Click on an element of the open page; a link is better opened by its URL.")
    effect = Effect.NETWORK
    shown = NOTHING_PRIVATE
    arguments_type = ClickArguments
    reads_on = True
    # After a restart the number is another element's
    may_stand = False

    def __init__(self, browser: Browsing) -> None:
        self._browser = browser

    def parse(self, arguments_json: str) -> ClickArguments:
        """Parse the arguments and refuse an unknown element before anybody is asked."""
        arguments = super().parse(arguments_json)
        _refuse_unknown(self._browser, arguments.number)
        return arguments

    def in_words(self, arguments: ClickArguments) -> str:
        return f"click on {_element_in_words(self._browser, arguments.number)}"

    async def execute(self, arguments: ClickArguments, context: ToolContext) -> ToolResult:
        rules = _rules(context)
        try:
            view = await self._browser.click(_whose(context), arguments.number, rules=rules)
        except BarnacleError as err:
            return ToolResult.failed(err.words(self.reads, self._browser.url))
        return _told(view)


class BrowserTypeTool(Tool[TypeArguments]):
    """Fills a field of the open page."""

    reads = Provenance.WEB
    name = "browser_type"
    description = own("Type into a field of the open page, or choose an entry of its list.")
    effect = Effect.NETWORK
    shown = NOTHING_PRIVATE
    arguments_type = TypeArguments
    reads_on = True
    # After a restart the number is another element's
    may_stand = False

    def __init__(self, browser: Browsing) -> None:
        self._browser = browser

    def parse(self, arguments_json: str) -> TypeArguments:
        """Parse the arguments and refuse an unknown element before anybody is asked."""
        arguments = super().parse(arguments_json)
        _refuse_unknown(self._browser, arguments.number)
        return arguments

    def in_words(self, arguments: TypeArguments) -> str:
        text = printable_line(arguments.text, _MAX_SHOWN_CHARS)
        where = _element_in_words(self._browser, arguments.number)
        return f'type "{text}" into {where}{", and press Enter" if arguments.enter else ""}'

    async def execute(self, arguments: TypeArguments, context: ToolContext) -> ToolResult:
        typing = self._browser.type(
            _whose(context),
            arguments.number,
            arguments.text,
            enter=arguments.enter,
            rules=_rules(context),
        )
        try:
            view = await typing
        except BarnacleError as err:
            return ToolResult.failed(err.words(self.reads, self._browser.url))
        return _told(view)


class BrowserScreenshotTool(Tool[NoArguments]):
    """Takes a picture of the open page into the workspace."""

    reads = Provenance.WEB
    name = "browser_screenshot"
    description = own("Take a picture of the page that is open in the browser.")
    effect = Effect.WRITE
    shown = NOTHING_PRIVATE
    arguments_type = NoArguments

    def __init__(self, browser: Browsing, album: Album) -> None:
        self._browser = browser
        self._album = album

    def in_words(self, arguments: NoArguments) -> str:
        url = printable_line(self._browser.url, _MAX_URL_CHARS) or "the browser"
        return f"take a picture of the page {url} and keep it in the workspace"

    async def execute(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        url = self._browser.url
        try:
            content = await self._browser.screenshot(_whose(context))
        except BarnacleError as err:
            return ToolResult.failed(err.words(self.reads, url))
        return await in_thread(lambda: keep(self._album, "page", content), self.reads, url)


class BrowserCloseTool(Tool[NoArguments]):
    """Ends the browser, which frees its memory; it ends by itself, too, if it is not used."""

    reads = Provenance.OWNER
    name = "browser_close"
    description = own("Close the browser when it is not needed any more.")
    effect = Effect.READ
    shown = NOTHING_PRIVATE
    arguments_type = NoArguments

    def __init__(self, browser: Browsing) -> None:
        self._browser = browser

    async def execute(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        await self._browser.close(_whose(context))
        return ToolResult.done(own("closed"))


def _whose(context: ToolContext) -> str:
    return f"{context.person}\0{context.conversation}"


def _rules(context: ToolContext) -> UrlRules:
    """Return the rules as a page meets them: what may not be opened is no part of one."""
    denies = partial(context.denies_url, BrowserOpenTool.name)
    return UrlRules(context.follows_redirects, denies)


def _told(view: PageView, part: int = 1) -> ToolResult:
    words = read(view.told(part), Provenance.WEB, view.url)
    return ToolResult.failed(words) if view.trouble else ToolResult.done(words)


def _refuse_unknown(browser: Browsing, number: int) -> None:
    if browser.element(number) is None:
        raise BadArguments(_NO_NUMBER)


def _element_in_words(browser: Browsing, number: int) -> str:
    """Describe an element to the person who is asked: the page chose its name."""
    element = browser.element(number)
    if element is None:
        return f"element {number} of a page that is closed by now"
    name = printable_line(element.name, _MAX_SHOWN_CHARS)
    url = printable_line(browser.url, _MAX_URL_CHARS)
    sends = printable_line(element.sends, _MAX_URL_CHARS)
    form = f", whose form goes to {sends}" if sends else ""
    leads = f", which leads to {printable_line(element.leads_to, _MAX_URL_CHARS)}"
    return f'the {element.kind} "{name}" of {url}{form}{leads if element.leads_to else ""}'
