"""The real browser where a rule of the owner compares URLs: each page is the gate's to decide."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agent.messages import ToolResult
from agent.tools.base import AnyTool
from agent.tools.browser.installed import find_program
from agent.tools.browser.tools import browser_tools
from agent.tools.picture_program import Album
from tests.fakes.clock import SteppedClock
from tests.fakes.hostile_site import HostileSite, hostile_sites
from tests.fakes.real_browser import desk_for, no_browser
from tests.fakes.workspace import CONTEXT

pytestmark = pytest.mark.skipif(bool(no_browser()), reason=no_browser() or "there is one")

RULED = replace(CONTEXT, follows_redirects=False)
_READS_IN = """<title>Garden</title><p id=own>Basil is green.</p><iframe src=/two></iframe>
<script>fetch('/two').then(got => got.text()).then(text => { own.textContent = text; });</script>
"""
_AHEAD = '{"prefetch": [{"urls": ["/two"], "eagerness": "immediate"}]}'
PAGES = {
    "/": "<title>Garden</title><p>Basil is green.</p><a href=/two>Two</a>"
    "<button onclick=\"location = '/two'\">Script</button>"
    "<button onclick=\"history.pushState({}, '', '/two'); location.reload()\">Reload</button>"
    "<form action=/two><input name=q placeholder=Word><button>Search</button></form>"
    "<form action=/two method=post><button>Send</button></form>"
    "<form action=/ method=post><button>Save</button></form>",
    "/restless": "<title>Garden</title><p>Basil is green.</p><script>location = '/two'</script>",
    "/refreshed": "<meta http-equiv=refresh content='0; url=/two'><p>Basil is green.</p>",
    "/ahead": f"<script type=speculationrules>{_AHEAD}</script><a href=/two>Two</a>",
    "/reading-in": _READS_IN,
    "/two": "<title>Two</title><p>dear diary</p>",
}


@pytest.fixture
def site() -> Iterator[HostileSite]:
    with hostile_sites(PAGES) as (made, _):
        yield made


@pytest.fixture
async def tools(site: HostileSite, tmp_path: Path) -> AsyncIterator[dict[str, AnyTool]]:
    desk = desk_for(site)
    yield {one.name: one for one in browser_tools(desk, Album(tmp_path, SteppedClock()))}
    await desk.aclose()


async def used(tool: AnyTool, **arguments: object) -> ToolResult:
    return await tool.execute(tool.parse(json.dumps(arguments)), RULED)


async def opened(tools: dict[str, AnyTool], url: str) -> dict[str, Any]:
    result = await used(tools["browser_open"], url=url)
    return dict(json.loads(result.text))


def number(page: dict[str, Any], name: str) -> int:
    return next(int(one["number"]) for one in page["elements"] if one["name"] == name)


def arrived(site: HostileSite, path: str) -> list[str]:
    return [one.method for one in site.arrivals if one.path.partition("?")[0] == path]


async def test_a_page_that_a_click_leads_to_is_told_with_its_address(
    tools: dict[str, AnyTool], site: HostileSite
) -> None:
    for name, query in (("Two", ""), ("Script", ""), ("Reload", ""), ("Search", "?q=")):
        page = await opened(tools, f"{site.url}/")
        told = json.loads((await used(tools["browser_click"], number=number(page, name))).text)
        assert (told["leads_to"], told["title"]) == (f"{site.url}/two{query}", "Garden"), name
    word = number(await opened(tools, f"{site.url}/"), "Word")
    result = await used(tools["browser_type"], number=word, text="basil", enter=True)
    assert json.loads(result.text)["leads_to"] == f"{site.url}/two?q=basil"
    assert not arrived(site, "/two")
    # The gate has decided on it then
    assert (await opened(tools, f"{site.url}/two"))["text"] == "dear diary"


async def test_a_page_does_not_lead_on_by_itself(
    tools: dict[str, AnyTool], site: HostileSite
) -> None:
    for path in ("/restless", "/refreshed", "/to-two"):
        page = await opened(tools, f"{site.url}{path}")
        assert (page["leads_to"], page["url"]) == (f"{site.url}/two", f"{site.url}{path}")
    assert not arrived(site, "/two")


async def test_a_form_is_sent_only_to_the_address_of_its_page(
    tools: dict[str, AnyTool], site: HostileSite
) -> None:
    page = await opened(tools, f"{site.url}/")
    told = json.loads((await used(tools["browser_click"], number=number(page, "Send"))).text)
    assert "a rule of the owner compares URLs" in told["happened"][0]
    await used(tools["browser_click"], number=number(told, "Save"))
    assert (arrived(site, "/two"), arrived(site, "/")) == ([], ["GET", "POST"])


async def test_a_page_that_was_fetched_ahead_is_not_shown(
    tools: dict[str, AnyTool], site: HostileSite
) -> None:
    page = await opened(tools, f"{site.url}/ahead")
    result = await used(tools["browser_click"], number=number(page, "Two"))
    assert f"{site.url}/two" in result.text
    assert "dear diary" not in result.text
    later = await used(tools["browser_read"])
    assert "dear diary" not in later.text


@pytest.mark.skipif(
    find_program().endswith("headless-shell"), reason="it has no preferences, and fetches ahead"
)
async def test_chromium_fetches_no_page_ahead_and_names_it_at_the_click(
    tools: dict[str, AnyTool], site: HostileSite
) -> None:
    page = await opened(tools, f"{site.url}/ahead")
    told = json.loads((await used(tools["browser_click"], number=number(page, "Two"))).text)
    assert (told["leads_to"], told["url"]) == (f"{site.url}/two", f"{site.url}/ahead")
    assert not arrived(site, "/two")


async def test_a_page_reads_in_nothing_that_a_rule_denies(
    tools: dict[str, AnyTool], site: HostileSite
) -> None:
    asked: set[str] = set()

    def denies(tool: str, url: str) -> bool:
        asked.add(tool)
        return url == f"{site.url}/two"

    arguments = tools["browser_open"].parse(json.dumps({"url": f"{site.url}/reading-in"}))
    context = replace(RULED, denies_url=denies)
    told = json.loads((await tools["browser_open"].execute(arguments, context)).text)
    assert (told["text"], asked) == ("Basil is green.", {"browser_open"})
    assert "a rule of the owner denies its URL" in told["happened"][0]
    assert not arrived(site, "/two")


async def test_without_such_a_rule_a_click_leads_on(
    tools: dict[str, AnyTool], site: HostileSite
) -> None:
    click = tools["browser_click"]
    page = await opened(tools, f"{site.url}/")
    arguments = click.parse(json.dumps({"number": number(page, "Two")}))
    result = await click.execute(arguments, CONTEXT)
    assert json.loads(result.text)["text"] == "dear diary"
