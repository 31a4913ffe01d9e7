import asyncio
import io
from pathlib import Path

import msgspec
from msgspec.structs import replace

from agent.app.build import assemble
from agent.app.mcp import McpSupport
from agent.config import Secret
from agent.messages import Provenance
from agent.providers.offline.toolbox import toolbox
from agent.security.redact import Redactor
from agent.settings import Paths, Settings
from agent.tools.base import ToolContext
from agent.tools.mcp.offer import ToolOffer
from agent.tools.mcp.servers import pins_in
from agent.tools.mcp.tool import KEY_TEXT
from agent.tools.selection import MAX_SHOWN_BYTES, ToolSelection
from tests.canaries import secret
from tests.fakes.clock import SteppedClock
from tests.fakes.mcp_household import garden
from tests.fakes.workspace import used

SCHEMA: dict[str, object] = {"type": "object", "properties": {"bed": {"type": "string"}}}
WATER = ToolOffer("garden", "water", "mcp_garden_water", "Water a flower bed.", SCHEMA, "a" * 64)


async def test_an_agent_has_what_was_approved_as_soon_as_it_is(tmp_path: Path) -> None:
    paths = Paths(None, tmp_path)
    agent = assemble(Settings(mcp={"garden": garden()}), paths, {}, io.StringIO())
    try:
        assert agent.registry.find(WATER.name) is None
        pins = pins_in(paths.mcp)
        pins.approve([WATER])
        tool = agent.registry.find(WATER.name)
        assert tool is not None
        # Words alone never choose it
        assert not toolbox([tool.spec()]).speakable
        # A search finds it by what the owner read
        search = ToolSelection(agent.registry).find("tool_search")
        assert search is not None
        assert WATER.name in (await used(search, query="water the flowers")).text
        pins.revoke("garden")
        assert agent.registry.find(WATER.name) is None
    finally:
        await agent.aclose()


async def test_many_of_them_leave_the_first_request_small(tmp_path: Path) -> None:
    paths = Paths(None, tmp_path)
    agent = assemble(Settings(mcp={"garden": garden()}), paths, {}, io.StringIO())
    try:
        about = {f"bed_{number}": {"description": "Which? " * 20} for number in range(20)}
        schema: dict[str, object] = {"type": "object", "properties": about}
        pins_in(paths.mcp).approve(
            [
                replace(WATER, tool=f"t{n}", name=f"mcp_garden_t{n}", schema=schema)
                for n in range(40)
            ]
        )
        shown = ToolSelection(agent.registry).divide([]).shown
        assert not [spec for spec in shown if spec.name.startswith("mcp_")]
        assert sum(len(msgspec.json.encode(spec)) for spec in shown) < MAX_SHOWN_BYTES + 1024
    finally:
        await agent.aclose()


async def test_without_any_in_the_configuration_there_is_nothing(tmp_path: Path) -> None:
    pins_in(Paths(None, tmp_path).mcp).approve([WATER])
    servers = McpSupport(Settings(), Paths(None, tmp_path), SteppedClock(), Redactor().knows)
    assert servers.tools() == ()

    async def tell(text: str) -> None:
        raise AssertionError(text)

    await servers.run(tell)


async def test_the_owner_is_told_and_servers_end_with_the_agent(tmp_path: Path) -> None:
    told: list[str] = []

    async def tell(text: str) -> None:
        told.append(text)

    paths = Paths(None, tmp_path)
    pins_in(paths.mcp).approve([WATER])
    redactor = Redactor([Secret(secret("mcp"))])
    settings = Settings(mcp={"garden": garden(read=("water",))})
    servers = McpSupport(settings, paths, SteppedClock(), redactor.knows)
    running = asyncio.create_task(servers.run(tell))
    await asyncio.sleep(0)
    [tool] = servers.tools()
    context = ToolContext("terminal", "owner", Provenance.OWNER)
    # What only looks is sent as well
    asked = tool.parse(f'{{"bed": "x {secret("mcp")}"}}')
    assert (await tool.execute(asked, context)).text == KEY_TEXT
    assert not told
    result = await tool.execute(tool.parse("{}"), context)
    assert "has changed since the owner approved it" in result.text
    assert "off until you approve them (forecast, given, fail)" in told[0]
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()


async def test_given_up_none_is_offered_loaded_or_started(tmp_path: Path) -> None:
    paths = Paths(None, tmp_path)
    pins_in(paths.mcp).approve([WATER])
    never = Redactor().knows
    servers = McpSupport(Settings(mcp={"garden": garden()}), paths, SteppedClock(), never)
    assert [tool.name for tool in servers.tools()] == [WATER.name]
    servers = McpSupport(Settings(mcp={"garden": garden()}), paths, SteppedClock(), never)
    servers.give_up()
    assert servers.tools() == ()

    async def tell(_text: str) -> None:
        raise AssertionError("there is nothing to tell")

    # With servers it would wait to end them
    async with asyncio.timeout(1):
        await servers.run(tell)
    assert "_servers" not in vars(servers)
