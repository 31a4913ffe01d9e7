"""The browser of this machine for tests, or why there is none."""

from pathlib import Path

from agent.net.http import HttpClient
from agent.security.web_addresses import WebRules
from agent.tools.browser.desk import BrowserDesk
from agent.tools.browser.installed import MISSING, find_program
from agent.tools.browser.process import BrowserSetup
from agent.tools.web import Web
from tests.fakes.hostile_site import HostileSite
from tests.fakes.sandbox import bubblewrap, no_bubblewrap

MEMORY_MB = 512
# More than any test wants
_FREE_MB = 4096


def no_browser() -> str:
    """Why no browser can be tried here; empty where one can."""
    return no_bubblewrap() or ("" if find_program() else MISSING)


def setup_for(*sites: HostileSite, program: str = "", free_mb: int = _FREE_MB) -> BrowserSetup:
    """A browser that may go to these sites at home, and to public ones."""
    web = Web(HttpClient(), WebRules(local=[site.spot for site in sites]))
    sandbox = bubblewrap(Path("/nowhere"))
    return BrowserSetup(find_program(program), sandbox, web, MEMORY_MB, lambda: free_mb)


def desk_for(*sites: HostileSite, program: str = "", idle_s: float = 60.0) -> BrowserDesk:
    setup = setup_for(*sites, program=program)

    async def make() -> BrowserSetup:
        return setup

    return BrowserDesk(setup.web, make, idle_s)
