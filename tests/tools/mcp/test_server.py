import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.config import Secret
from agent.errors import McpAway
from agent.system.clock import Clock
from agent.tools.mcp import server as server_module
from agent.tools.mcp.server import McpServer, ServerTimeouts, trouble_with
from agent.tools.mcp.settings import McpSettings
from tests.canaries import secret
from tests.fakes.children import children
from tests.fakes.clock import SteppedClock
from tests.fakes.mcp_household import asking, garden, offer_of, served
from tests.structure.sources import ROOT
from tests.waits import wait_until


@contextlib.asynccontextmanager
async def running(
    settings: McpSettings,
    folder: Path,
    clock: Clock | None = None,
    patience: ServerTimeouts | None = None,
) -> AsyncIterator[McpServer]:
    server = McpServer("garden", settings, folder, clock or SteppedClock(), patience=patience)
    try:
        yield server
    finally:
        await server.aclose()


async def forecast(server: McpServer, place: str = "Rome") -> str:
    digest = (await offer_of(server, "forecast")).digest
    return (await server.call("forecast", digest, {"place": place})).text


async def test_a_program_tells_what_it_has_and_does_what_was_approved(tmp_path: Path) -> None:
    before = set(children())
    token = secret("mcp")
    async with running(garden(env={"GARDEN_TOKEN": Secret(token)}), tmp_path) as server:
        digests = {one.tool: one.digest for one in await server.offers()}
        assert list(digests) == ["forecast", "given", "fail"]
        assert await forecast(server) == "Rome: sun for 1 days"
        assert await forecast(server, "Köln 💡") == "Köln 💡: sun for 1 days"
        assert (await server.call("fail", digests["fail"], {})).is_error
        assert (await server.call("forecast", digests["forecast"], {"place": []})).is_error
        for tool, digest in (("forecast", "0" * 64), ("other", "")):
            with pytest.raises(McpAway, match="has changed since the owner approved it"):
                await server.call(tool, digest, {})
        # What it needs to know it is told where no list of processes shows it
        given = await server.call("given", digests["given"], {})
        assert f"GARDEN_TOKEN={token}" in given.text
        shown = [_shown(pid) for pid in set(children()) - before]
        assert shown
        assert not any(token in one for one in shown)


async def test_a_server_of_the_web_is_the_same(tmp_path: Path) -> None:
    with served() as url:
        async with running(McpSettings(url=url), tmp_path) as server:
            assert await forecast(server) == "Rome: sun for 1 days"


async def test_a_call_that_a_server_refuses_is_a_sentence_and_it_goes_on(tmp_path: Path) -> None:
    async with running(asking(), tmp_path) as server:
        refuse, ask = await offer_of(server, "refuse"), await offer_of(server, "ask")
        with pytest.raises(McpAway, match=r"garden gave no result: MCPError: no\[1m water"):
            await server.call("refuse", refuse.digest, {})
        told = json.loads((await server.call("ask", ask.digest, {})).text)
        # Where nobody can be asked
        assert told["elicitation/create"] == "got {'action': 'decline'}"


async def test_one_that_dies_is_tried_again_later_and_later_until_it_works(tmp_path: Path) -> None:
    clock = SteppedClock()
    (tmp_path / "broken").touch()
    settings = garden("dying", env={"GARDEN_TOKEN": Secret(secret("mcp"))})
    async with running(settings, tmp_path, clock) as server:
        # What it was given is in no complaint
        with pytest.raises(McpAway, match=r"it ended, saying 'no such garden \*\*\*'"):
            await server.offers()
        with pytest.raises(McpAway, match="next attempt in 1 s"):
            await server.offers()
        clock.advance(1.1)
        with pytest.raises(McpAway, match="it ended, saying"):
            await server.offers()
        with pytest.raises(McpAway, match="next attempt in 2 s"):
            await server.offers()
        (tmp_path / "broken").unlink()
        clock.advance(2.1)
        die = await offer_of(server, "die")
        with pytest.raises(McpAway, match="out of water"):
            await server.call("die", die.digest, {})
        clock.advance(4.1)
        assert await forecast(server) == "Rome: sun for 1 days"


async def test_nobody_waits_for_a_silent_one_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    before = set(children())
    patience = ServerTimeouts(call_s=1.0, start_s=20.0)
    async with running(garden("silent"), tmp_path, patience=patience) as server:
        silence, weather = await offer_of(server, "silence"), await offer_of(server, "forecast")
        told = await asyncio.gather(
            server.call("silence", silence.digest, {}),
            server.call("forecast", weather.digest, {"place": "Rome"}),
            return_exceptions=True,
        )
        assert "no answer within 1 s; it may or may not have acted" in str(told[0])
        # By then it is busy with the silent one, or has been ended for its silence
        assert isinstance(told[1], McpAway)
    await _none_left(before)


async def test_a_call_that_is_stopped_ends_the_server(tmp_path: Path) -> None:
    before = set(children())
    async with running(garden("silent"), tmp_path) as server:
        silence = await offer_of(server, "silence")
        calling = asyncio.create_task(server.call("silence", silence.digest, {}))
        await wait_until(_orphans)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await _none_left(before)
        # Nothing of the stopped call is taken for the next one's answer
        assert await forecast(server) == "Rome: sun for 1 days"


async def test_one_that_nobody_asks_ends_and_comes_back(tmp_path: Path) -> None:
    before = set(children())
    async with running(garden(), tmp_path, patience=ServerTimeouts(idle_s=0.1)) as server:
        assert await forecast(server) == "Rome: sun for 1 days"
        await _none_left(before)
        assert await forecast(server) == "Rome: sun for 1 days"


# An agent that is killed in the middle of a call
KILLED = """
import asyncio, os, sys
from pathlib import Path
from agent.system.clock import SystemClock
from agent.tools.mcp.server import McpServer
from tests.fakes.mcp_household import garden, offer_of

async def main():
    server = McpServer("garden", garden("silent"), Path(sys.argv[1]), SystemClock())
    silence = await offer_of(server, "silence")
    calling = asyncio.create_task(server.call("silence", silence.digest, {}))
    await asyncio.sleep(0.3)
    print(server._bridge.bridge_pid, flush=True)
    os.kill(os.getpid(), 9)

asyncio.run(main())
"""


async def test_nothing_is_left_of_an_agent_that_was_killed(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "ignore", "-c", KILLED, str(tmp_path)),
        stdout=asyncio.subprocess.PIPE,
        env={"PYTHONPATH": str(ROOT)},
    )
    out, _ = await process.communicate()
    await wait_until(lambda: not living_in(int(out)))


def living_in(session: int) -> list[str]:
    """The members of a session but for those that nobody has noticed the end of."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = status.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(status.parent.name)
    return found


def test_what_cannot_be_started_is_said_before_it_is_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert trouble_with(McpSettings(command=(sys.executable,))) == ""
    assert trouble_with(McpSettings(url="http://127.0.0.1:1/mcp")) == ""
    assert "nosuch is not in /usr/bin:/bin" in trouble_with(McpSettings(command=("nosuch",)))
    monkeypatch.setattr(server_module.importlib.util, "find_spec", lambda _name: None)
    assert "pip install '.[mcp]'" in trouble_with(McpSettings(command=(sys.executable,)))


async def test_without_the_sdk_a_call_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module.importlib.util, "find_spec", lambda _name: None)
    async with running(garden(), tmp_path) as server:
        with pytest.raises(McpAway, match=r"pip install '\.\[mcp\]'"):
            await server.offers()


def _shown(pid: int) -> str:
    """What a list of processes shows of the bridge."""
    folder = Path(f"/proc/{pid}")
    return (folder / "cmdline").read_text() + (folder / "environ").read_text()


async def _none_left(before: set[int]) -> None:
    await wait_until(lambda: not (set(children()) - before or _orphans()))


def _orphans() -> list[int]:
    """What the silent server has started, wherever it is now."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if words[:2] == [b"sleep", b"300"] and os.getsid(int(folder.name)) != os.getsid(0):
                found.append(int(folder.name))
    return found
