import pytest

from agent.errors import BrowserFailed
from agent.tools.browser.desk import BrowserDesk
from agent.tools.browser.installed import MIN_FREE_MB
from agent.tools.browser.process import BrowserSetup
from tests.fakes.hostile_site import HostileSite
from tests.fakes.real_browser import setup_for

SITE = HostileSite(8080)


def desk_with(setup: BrowserSetup) -> BrowserDesk:
    async def make() -> BrowserSetup:
        return setup

    return BrowserDesk(setup.web, make)


async def test_without_free_memory_nothing_is_started() -> None:
    desk = desk_with(setup_for(SITE, free_mb=MIN_FREE_MB - 1))
    with pytest.raises(BrowserFailed, match="349 MB are free"):
        await desk.open("owner", SITE.url)
    assert (desk.url, desk.element(1)) == ("", None)
    await desk.close("owner")


async def test_what_is_missing_is_said_at_the_first_page() -> None:
    async def missing() -> BrowserSetup:
        raise BrowserFailed("no browser found")

    desk = BrowserDesk(setup_for(SITE).web, missing)
    with pytest.raises(BrowserFailed, match="no browser found"):
        await desk.open("owner", SITE.url)


@pytest.mark.parametrize("act", ["read", "screenshot"])
async def test_without_a_page_there_is_nothing_to_use(act: str) -> None:
    desk = desk_with(setup_for(SITE))
    with pytest.raises(BrowserFailed, match="no page is open"):
        await getattr(desk, act)("owner")
    with pytest.raises(BrowserFailed, match="no page is open"):
        await desk.click("owner", 1)
    with pytest.raises(BrowserFailed, match="no page is open"):
        await desk.type("owner", 1, "x", enter=False)
