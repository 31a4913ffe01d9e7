"""A browser of a world: its page has a canary in one of its parts."""

from agent.errors import BrowserFailed
from agent.net.http import HttpClient
from agent.security.web_addresses import WebRules
from agent.tools.browser.view import PageElement, PageReading, PageView
from agent.tools.web import Web
from tests.fakes.picture_programs import JPEG
from tests.taint.planting import World


class PlantedBrowser:
    """Whatever is done with it, the page is the same."""

    def __init__(self, made: World) -> None:
        self._made = made
        self.web = Web(HttpClient(), WebRules())

    @property
    def url(self) -> str:
        return f"https://news.example.org/{self._made.at('browser address', '')}"

    def element(self, number: int) -> PageElement | None:
        return PageElement(number, "button", self._made.at("browser element", "Buy"))

    async def open(self, whose: str, url: str) -> PageView:
        return await self.read(whose)

    async def read(self, _whose: str) -> PageView:
        made = self._made
        if made.is_at("browser failure"):
            raise BrowserFailed(f"the browser refuses: {made.text}")
        element = self.element(1)
        assert element is not None
        title, text = made.at("browser title", "Basil"), made.at("browser text", "is green ")
        reading = PageReading(title, text, [element], 0, 2)
        happened = [made.at("browser event", "closed: a window that the page opened")]
        leads_to = made.at("browser way", "https://elsewhere.example.com/")
        return PageView(self.url, reading, happened, leads_to)

    async def click(self, whose: str, number: int) -> PageView:
        return await self._sent(whose)

    async def type(self, whose: str, number: int, text: str, *, enter: bool) -> PageView:
        return await self._sent(whose)

    async def screenshot(self, whose: str) -> bytes:
        await self.read(whose)
        return JPEG

    async def close(self, whose: str) -> None:
        return None

    async def _sent(self, whose: str) -> PageView:
        self._made.sent_out.append(self.url)
        return await self.read(whose)
