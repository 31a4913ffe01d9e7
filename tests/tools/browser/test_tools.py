import json
from pathlib import Path

import pytest

from agent.errors import BadArguments, BrowserFailed
from agent.messages import Effect, Provenance
from agent.net.http import HttpClient
from agent.security.web_addresses import WebRules
from agent.tools.base import AnyTool
from agent.tools.browser.tools import browser_tools
from agent.tools.browser.traffic import NO_RULES, UrlRules
from agent.tools.browser.view import PART_CHARS, PageElement, PageReading, PageView
from agent.tools.picture_program import Album
from agent.tools.web import Web
from tests.fakes.clock import SteppedClock
from tests.fakes.picture_programs import JPEG
from tests.fakes.workspace import used

BUY = PageElement(7, "button", "Buy", sends="POST https://shop.example.org/order")
LINK = PageElement(8, "link", "More\x1b[31m", leads_to="https://shop.example.org/more")


class PreparedBrowser:
    """A page with a button and a link."""

    url = "https://shop.example.org/"

    def __init__(self) -> None:
        self.web = Web(HttpClient(), WebRules())
        self.view = PageView(self.url, PageReading("Shop", "Basil " * 2000, [BUY, LINK], 3, 9))
        self.done: list[object] = []
        self.failure = ""

    def element(self, number: int) -> PageElement | None:
        return {7: BUY, 8: LINK}.get(number)

    async def open(self, whose: str, url: str, *, rules: UrlRules = NO_RULES) -> PageView:
        return self._did("open", whose, url)

    async def read(self, whose: str) -> PageView:
        return self._did("read", whose)

    async def click(self, whose: str, number: int, *, rules: UrlRules = NO_RULES) -> PageView:
        return self._did("click", whose, number)

    async def type(
        self, whose: str, number: int, text: str, *, enter: bool, rules: UrlRules = NO_RULES
    ) -> PageView:
        return self._did("type", whose, number, text, enter)

    async def screenshot(self, whose: str) -> bytes:
        self._did("screenshot", whose)
        return JPEG

    async def close(self, whose: str) -> None:
        self._did("close", whose)

    def _did(self, *words: object) -> PageView:
        if self.failure:
            raise BrowserFailed(self.failure)
        self.done.append(words)
        return self.view


@pytest.fixture
def browser() -> PreparedBrowser:
    return PreparedBrowser()


@pytest.fixture
def tools(browser: PreparedBrowser, tmp_path: Path) -> dict[str, AnyTool]:
    return {one.name: one for one in browser_tools(browser, Album(tmp_path, SteppedClock()))}


ARGUMENTS: dict[str, dict[str, object]] = {
    "browser_open": {"url": "https://shop.example.org/"},
    "browser_read": {},
    "browser_click": {"number": 7},
    "browser_type": {"number": 7, "text": "Anna"},
    "browser_screenshot": {},
    "browser_close": {},
}


def test_whatever_can_send_is_an_effect(tools: dict[str, AnyTool]) -> None:
    assert {name: tool.effect for name, tool in tools.items()} == {
        "browser_open": Effect.NETWORK,
        "browser_read": Effect.READ,
        "browser_click": Effect.NETWORK,
        "browser_type": Effect.NETWORK,
        "browser_screenshot": Effect.WRITE,
        "browser_close": Effect.READ,
    }
    assert all(20 < len(tool.description.text) < 120 for tool in tools.values())


@pytest.mark.parametrize("name", [one for one in ARGUMENTS if one != "browser_close"])
async def test_all_that_comes_from_a_page_is_a_strangers_word(
    tools: dict[str, AnyTool], browser: PreparedBrowser, name: str
) -> None:
    done = await used(tools[name], **ARGUMENTS[name])
    assert (done.success, done.words.provenance) == (True, Provenance.WEB)
    browser.failure = "the page says no"
    failed = await used(tools[name], **ARGUMENTS[name])
    assert (failed.success, failed.words.provenance) == (False, Provenance.WEB)
    assert "the page says no" in failed.text


async def test_a_page_is_shown_in_parts_with_what_can_be_used(tools: dict[str, AnyTool]) -> None:
    told = json.loads((await used(tools["browser_read"])).text)
    assert (told["title"], len(told["text"]), told["more"]) == ("Shop", PART_CHARS, True)
    assert told["elements"][0] == {
        "number": 7,
        "kind": "button",
        "name": "Buy",
        "sends": "POST https://shop.example.org/order",
    }
    assert told["elements_left_out"] == 3
    rest = json.loads((await used(tools["browser_read"], part=2)).text)
    assert (len(rest["text"]), rest["more"], "elements" in rest) == (4000, False, False)


def test_the_question_says_what_is_clicked_and_where_it_goes(tools: dict[str, AnyTool]) -> None:
    click, typing = tools["browser_click"], tools["browser_type"]
    assert click.in_words(click.parse('{"number": 7}')) == (
        'click on the button "Buy" of https://shop.example.org/, whose form goes to '
        "POST https://shop.example.org/order"
    )
    words = click.in_words(click.parse('{"number": 8}'))
    assert words.endswith("which leads to https://shop.example.org/more")
    assert words.isprintable()
    arguments = typing.parse('{"number": 7, "text": "Anna", "enter": true}')
    assert typing.in_words(arguments).startswith('type "Anna" into the button "Buy"')
    assert typing.in_words(arguments).endswith("and press Enter")


def test_no_always_covers_a_click_and_one_of_opening_covers_one_site(
    tools: dict[str, AnyTool],
) -> None:
    # A number is another element's after a restart: "exactly this call" would be another act
    assert not tools["browser_click"].may_stand
    assert not tools["browser_type"].may_stand
    opening = tools["browser_open"]
    pattern = opening.always_for(opening.parse('{"url": "https://shop.example.org/a"}'))
    assert pattern is not None
    assert pattern.fixed == {"origin": "https://shop.example.org"}


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("browser_open", {"url": "http://192.168.1.1/"}, "this machine or network"),
        ("browser_open", {"url": "file:///etc/passwd"}, "http"),
        ("browser_click", {"number": 99}, "no element"),
        ("browser_type", {"number": 99, "text": "x"}, "no element"),
        ("browser_type", {"number": 7, "text": "x" * 5000}, "length"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anybody_is_asked(
    tools: dict[str, AnyTool], name: str, arguments: dict[str, object], reason: str
) -> None:
    with pytest.raises(BadArguments, match=reason):
        tools[name].parse(json.dumps(arguments))


async def test_a_page_that_did_not_come_is_a_failure_with_the_reason(
    tools: dict[str, AnyTool], browser: PreparedBrowser
) -> None:
    empty = PageReading("", "", [], 0, 1)
    browser.view = PageView(browser.url, empty, trouble="169.254.169.254 leads to this machine")
    result = await used(tools["browser_open"], url=browser.url)
    assert (result.success, "leads to this machine" in result.text) == (False, True)
