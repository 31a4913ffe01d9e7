"""Composition of Home Assistant: its client and its tools, where it is configured."""

import logging
from collections.abc import Mapping

from agent.channels.credentials import find_secret
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.net.http import HttpClient
from agent.system.clock import Clock
from agent.tools.base import AnyTool
from agent.tools.home_assistant.client import HomeAssistant
from agent.tools.home_assistant.entities import EntityRules
from agent.tools.home_assistant.tools import home_tools
from agent.tools.settings import HomeAssistantSettings
from agent.tools.web import Lookup, look_up

_log = logging.getLogger(__name__)


def home_token(wanted: HomeAssistantSettings, environ: Mapping[str, str]) -> Secret:
    """Return the token; empty if none is configured.

    Raises:
        ConfigRefused: it cannot be read.
    """
    return find_secret("home_assistant_token", wanted.token, wanted.token_file, environ)


def open_home(
    wanted: HomeAssistantSettings,
    environ: Mapping[str, str],
    http: HttpClient,
    lookup: Lookup = look_up,
) -> HomeAssistant:
    """Return the client.

    Raises:
        ConfigRefused: there is no token.
    """
    token = home_token(wanted, environ)
    if not token or not token.reveal().isascii():
        raise ConfigRefused(
            "home_assistant has no token: set token_file to a file with a long-lived access token, "
            "which Home Assistant makes on the page of its user under Security"
        )
    return HomeAssistant(wanted.base_url, token, http, lookup)


def tools_of(
    wanted: HomeAssistantSettings, environ: Mapping[str, str], http: HttpClient, clock: Clock
) -> list[AnyTool]:
    """Return the tools; none where it cannot be used as it is configured."""
    try:
        home = open_home(wanted, environ, http)
    except ConfigRefused as err:
        _log.error("home: no tools (reason=%s)", err)
        return []
    return home_tools(home, EntityRules(wanted.entities), clock)


async def probe(wanted: HomeAssistantSettings, environ: Mapping[str, str]) -> str:
    """Return how Home Assistant is, in a sentence.

    Raises:
        BarnacleError: it cannot be used, or is not there.
    """
    http = HttpClient()
    try:
        home = open_home(wanted, environ, http)
        await home.check()
        there = {one.entity_id for one in await home.states()}
    finally:
        await http.aclose()
    rules = EntityRules(wanted.entities)
    allowed = [one for one in there if rules.danger_of(one)]
    if missing := [one for one in wanted.entities if not set(one) & set("*?") and one not in there]:
        raise ConfigRefused(
            f"{home.host} knows no {', '.join(missing)}: correct home_assistant.entities"
        )
    return f"{home.host} takes the token; {len(allowed)} of its {len(there)} entities are allowed"
