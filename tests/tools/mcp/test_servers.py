"""Servers whose tools change while they are in use."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.errors import McpAway
from agent.tools.mcp.offer import ToolOffer
from agent.tools.mcp.server import McpServer
from agent.tools.mcp.servers import McpServers, pins_in
from agent.tools.mcp.settings import McpSettings
from tests.fakes.clock import SteppedClock
from tests.fakes.mcp_household import garden, served


@contextlib.asynccontextmanager
async def approved(
    folder: Path, settings: McpSettings
) -> AsyncIterator[tuple[McpServer, dict[str, ToolOffer], list[str]]]:
    """A server all of whose tools are approved, and what the owner is told from then on."""
    servers, told = McpServers({"garden": settings}, folder, SteppedClock()), list[str]()

    async def tell(sentence: str) -> None:
        told.append(sentence)

    try:
        server = servers.find("garden")
        offers = await server.offers()
        pins_in(folder).approve(offers)
        servers.begin(tell)
        yield server, {one.tool: one for one in offers}, told
    finally:
        await servers.aclose()


async def changes_are_seen(folder: Path, settings: McpSettings) -> None:
    async with approved(folder, settings) as (server, before, told):
        assert (await server.call("water", before["water"].digest, {})).text == "watered 1"
        await server.call("learn", before["learn"].digest, {})
        with pytest.raises(McpAway, match=r"water .* has changed since the owner approved it"):
            await server.call("water", before["water"].digest, {})
        pins = pins_in(folder)
        held = [tool for tool, pin in pins.of("garden").items() if pin.is_held]
        after = {one.tool: one for one in await server.offers()}
        pins.approve([after["water"], after["weed"]])
        assert (await server.call("water", after["water"].digest, {})).text == "watered 2"
        assert (await server.call("weed", after["weed"].digest, {})).text == "done"
        await server.call("forecast", before["forecast"].digest, {"place": "Rome"})
    assert held == ["water"]
    assert after["water"].description == "Water the garden, and the street."
    assert len(told) == 2
    assert "changed tools, off until you approve them (water)" in told[0]
    assert "new tools, off until you approve them (weed)" in told[1]


async def test_a_program_that_changes_a_tool_in_the_middle_is_seen_to(tmp_path: Path) -> None:
    await changes_are_seen(tmp_path, garden("growing", sandbox="none"))


async def test_a_server_of_the_web_that_changes_a_tool_in_the_middle_is_seen_to(
    tmp_path: Path,
) -> None:
    with served("growing") as url:
        await changes_are_seen(tmp_path, McpSettings(url=url))
