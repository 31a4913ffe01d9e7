import asyncio
from pathlib import Path

import pytest

from agent.errors import McpAway
from agent.tools.mcp.server import ServerTimeouts
from agent.tools.mcp.servers import McpServers
from tests.fakes.children import children
from tests.fakes.clock import SteppedClock
from tests.fakes.mcp_household import garden, offer_of
from tests.waits import wait_until

PATIENCE = ServerTimeouts(call_s=2.0, start_s=30.0)


def bridges() -> set[int]:
    return {pid for pid in children() if b"mcp.bridge" in Path(f"/proc/{pid}/cmdline").read_bytes()}


@pytest.fixture
def servers(tmp_path: Path) -> McpServers:
    settings = {"one": garden(), "two": garden("silent")}
    return McpServers(settings, tmp_path, SteppedClock(), PATIENCE)


async def test_all_servers_have_one_process_and_it_ends_with_the_last(servers: McpServers) -> None:
    before = bridges()
    one, two = servers.find("one"), servers.find("two")
    await asyncio.gather(one.offers(), two.offers())
    assert len(bridges() - before) == 1
    await one.aclose()
    assert len(bridges() - before) == 1
    await two.aclose()
    assert bridges() == before


async def test_one_that_is_broken_off_leaves_the_other(servers: McpServers) -> None:
    one, two = servers.find("one"), servers.find("two")
    weather, silence = await offer_of(one, "forecast"), await offer_of(two, "silence")
    before = bridges()
    with pytest.raises(McpAway, match="no answer within 2 s"):
        await two.call("silence", silence.digest, {})
    answer = await one.call("forecast", weather.digest, {"place": "Rome"})
    assert answer.text == "Rome: sun for 1 days"
    assert bridges() == before
    await servers.aclose()


async def test_servers_of_a_bridge_that_was_killed_start_again(servers: McpServers) -> None:
    one = servers.find("one")
    weather = await offer_of(one, "forecast")
    assert one._bridge is not None
    one._bridge._running.kill()
    connection = one._bridge
    await wait_until(lambda: not connection.is_alive)
    answer = await one.call("forecast", weather.digest, {"place": "Rome"})
    assert answer.text == "Rome: sun for 1 days"
    await servers.aclose()
