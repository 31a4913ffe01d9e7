"""The real browser of this machine against pages that want everything: a few of each kind.

`scripts/test-browser-tool` tries all of them.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest

from agent.errors import BrowserFailed
from agent.tools.browser import process as browser_process
from agent.tools.browser.desk import BrowserDesk
from agent.tools.browser.view import PageView
from tests.fakes.certificates import trusted
from tests.fakes.children import descendants, is_running
from tests.fakes.hostile_site import FURTHER, TRICKS, HostileSite, hostile_sites, page_with
from tests.fakes.real_browser import desk_for, no_browser
from tests.waits import wait_until

pytestmark = pytest.mark.skipif(bool(no_browser()), reason=no_browser() or "there is one")

ME = "owner"
# One page with many of them: each is tried alone by the script
_TRIED = ("fetch", "beacon", "form in a frame", "form of another site", "socket of a frame")
_TRIED_TOO = ("worker of a frame", "window", "home by a picture", "confirm", "file", "own values")


@pytest.fixture
def sites() -> Iterator[tuple[HostileSite, HostileSite]]:
    with hostile_sites({**FURTHER, "/": page_with(together((*_TRIED, *_TRIED_TOO)))}) as both:
        yield both


@pytest.fixture
async def desk(sites: tuple[HostileSite, HostileSite]) -> AsyncIterator[BrowserDesk]:
    made = desk_for(*sites)
    yield made
    await made.aclose()
    await wait_until(lambda: not browsers())


def together(names: Sequence[str]) -> str:
    """Several tricks in one script, each whatever becomes of the others."""
    return ";".join(f"try {{ {TRICKS[name]} }} catch {{}}" for name in names)


def browsers() -> set[int]:
    """What of a browser is below this process."""
    return {one for one in descendants(os.getpid()) if is_running(one) and "chrom" in _name(one)}


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text()
    except OSError:
        return ""


def number(view: PageView, name: str) -> int:
    return next(one.number for one in view.reading.elements if one.name == name)


async def test_a_page_that_loads_sends_nothing_and_gets_nowhere(
    desk: BrowserDesk, sites: tuple[HostileSite, HostileSite]
) -> None:
    site, other = sites
    view = await desk.open(ME, site.url)
    assert "Basil is green." in view.reading.text
    assert any("nobody has allowed to send" in one for one in view.happened)
    for path in ("/to-home", "/to-other", "/download"):
        assert (await desk.open(ME, f"{site.url}{path}")).trouble
    assert (await desk.open(ME, f"{site.url}/to-other")).leads_to == f"{other.url}/"
    # A page that wants to go there by itself stays where it is
    site.pages["/restless"] = page_with(TRICKS["other site"])
    view = await desk.open(ME, f"{site.url}/restless")
    assert (view.leads_to, view.url) == (f"{other.url}/form", f"{site.url}/restless")
    assert "Basil is green." in (await desk.read(ME)).reading.text
    assert not site.effects
    assert not other.effects


async def test_a_form_is_sent_by_a_click_and_only_to_its_own_site(
    desk: BrowserDesk, sites: tuple[HostileSite, HostileSite]
) -> None:
    site, _ = sites
    view = await desk.open(ME, f"{site.url}/shop")
    view = await desk.type(ME, number(view, "Your name"), "Anna", enter=False)
    view = await desk.type(ME, number(view, "size"), "large", enter=False)
    assert not site.effects
    with pytest.raises(BrowserFailed, match="password"):
        await desk.type(ME, number(view, "word"), "secret", enter=False)
    with pytest.raises(BrowserFailed, match="no element"):
        await desk.click(ME, 10**6)
    view = await desk.click(ME, number(view, "Buy"))
    assert [(one.path, one.body) for one in site.effects] == [("/e", b"name=Anna&size=large&word=")]
    assert (view.reading.title, view.sent) == ("Done", [f"POST {site.url}"])
    assert (await desk.screenshot(ME)).startswith(b"\xff\xd8")


async def test_what_looks_different_by_now_is_not_clicked(
    desk: BrowserDesk, sites: tuple[HostileSite, HostileSite]
) -> None:
    view = await desk.open(ME, f"{sites[0].url}/shop")
    pay = number(view, "Pay")
    later = await desk.click(ME, pay)
    assert number(later, "Pay twice") != pay
    with pytest.raises(BrowserFailed, match=r"no element with this number|has changed"):
        await desk.click(ME, pay)
    # Nobody else sees the page, or uses it
    with pytest.raises(BrowserFailed, match="no page is open"):
        await desk.read("a guest")


async def test_encrypted_pages_are_under_the_same_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sending = ("fetch", "socket of a srcdoc", "socket of a blob")
    pages = {**FURTHER, "/": page_with(together(sending))}
    with trusted(tmp_path, "IP:127.0.0.1") as tls, hostile_sites(pages, tls) as sites:
        site = sites[0]
        desk = desk_for(site)
        # Nobody whom the browser trusts has signed it
        assert "ERR_CERT" in (await desk.open(ME, site.url)).trouble
        await desk.aclose()
        words = (*browser_process.WORDS, "--ignore-certificate-errors")
        monkeypatch.setattr(browser_process, "WORDS", words)
        view = await desk.open(ME, site.url)
        assert "Basil is green." in view.reading.text
        assert not site.effects
        view = await desk.open(ME, f"{site.url}/shop")
        await desk.click(ME, number(view, "Buy"))
        assert [one.method for one in site.effects] == ["POST"]
        await desk.aclose()


async def test_a_call_that_is_cancelled_leaves_no_process(
    desk: BrowserDesk, sites: tuple[HostileSite, HostileSite]
) -> None:
    opening = asyncio.create_task(desk.open(ME, f"{sites[0].url}/two"))
    await wait_until(browsers)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    await wait_until(lambda: not browsers())
    assert (await desk.open(ME, f"{sites[0].url}/two")).reading.title == "Two"


async def test_a_browser_that_nobody_uses_ends(sites: tuple[HostileSite, HostileSite]) -> None:
    desk = desk_for(*sites, idle_s=0.1)
    assert (await desk.open(ME, f"{sites[0].url}/two")).reading.title == "Two"
    await wait_until(lambda: not browsers())
    with pytest.raises(BrowserFailed, match="no page is open"):
        await desk.read(ME)
