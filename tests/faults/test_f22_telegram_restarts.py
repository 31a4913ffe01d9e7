"""F22: a restart at any place neither repeats nor loses a message of Telegram."""

import asyncio
import contextlib
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes import telegram_server
from tests.fakes.clock import SteppedClock
from tests.fakes.telegram_agent import STEPS
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_world import ANNA, BEN

# Each is a process of its own
KILLS = 12
# From a start to the last thing that a message passes, on this machine
LIFE_S = 1.2
PATIENCE_S = 25.0
pytestmark = pytest.mark.timeout(90)


@contextlib.asynccontextmanager
async def agent(server: TelegramServer, folder: Path, step: str = "") -> AsyncIterator["Process"]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.fakes.telegram_agent"),
        *(server.base_url, server.token, str(folder), step),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


Process = asyncio.subprocess.Process


@contextlib.asynccontextmanager
async def platform() -> AsyncIterator[TelegramServer]:
    """In the time that the agent's clock begins with: nothing is a day late."""
    async with telegram_server.running() as server:
        server.world.now_s = SteppedClock().wall_s()
        yield server


async def answered(server: TelegramServer, chat: int, *texts: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not {f"echo: {text}" for text in texts} <= set(server.world.shown(chat)):  # noqa: ASYNC110 - another process answers
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("step", STEPS)
async def test_a_kill_at_any_step_loses_nothing_and_repeats_only_what_nobody_confirmed(
    step: str, tmp_path: Path
) -> None:
    async with platform() as server:
        server.longest_poll_s = 1.0
        await server.world.write("one")
        await server.world.write("two")
        await server.world.write("from somebody else", BEN)
        async with agent(server, tmp_path, step) as first:
            async with asyncio.timeout(PATIENCE_S):
                assert await first.wait() == 9
        async with agent(server, tmp_path):
            await answered(server, ANNA, "one", "two")
            await answered(server, BEN, "from somebody else")
            await server.world.write("after it")
            await answered(server, ANNA, "after it")
        shown = Counter(server.world.shown(ANNA) + server.world.shown(BEN))
        # Only what was sent and not yet written down can be sent once more
        assert sum(shown.values()) - len(shown) <= (1 if step == "sent" else 0)
        in_order = list(dict.fromkeys(server.world.shown(ANNA)))
        assert in_order == ["echo: one", "echo: two", "echo: after it"]


async def test_kills_at_any_time_leave_every_message_answered(tmp_path: Path) -> None:
    chance = random.Random(22)
    texts = [f"message {number}" for number in range(KILLS)]
    async with platform() as server:
        for text in texts:
            await server.world.write(text)
            async with agent(server, tmp_path):
                await asyncio.sleep(chance.uniform(0.3, LIFE_S))
        await server.world.write("the last")
        async with agent(server, tmp_path):
            await answered(server, ANNA, "the last")
            await answered(server, ANNA, *texts)
        shown = Counter(server.world.shown(ANNA))
        assert set(shown) == {f"echo: {text}" for text in (*texts, "the last")}
        # A kill between the platform's having it and our writing that down
        assert sum(shown.values()) - len(shown) <= 2


async def test_an_update_that_comes_again_is_answered_once(tmp_path: Path) -> None:
    async with platform() as server:
        await server.world.write("once")
        again = list(server.world.updates)
        async with agent(server, tmp_path):
            await answered(server, ANNA, "once")
            async with server.world.changed:
                server.world.updates.extend(again)
                server.world.changed.notify_all()
            await server.world.write("next")
            await answered(server, ANNA, "next")
        assert server.world.shown(ANNA) == ["echo: once", "echo: next"]


async def test_an_edited_message_is_no_new_command(tmp_path: Path) -> None:
    async with platform() as server:
        message = await server.world.write("lamp off")
        async with agent(server, tmp_path):
            await answered(server, ANNA, "lamp off")
            await server.world.push("edited_message", message | {"text": "lamp on"})
            await server.world.write("next")
            await answered(server, ANNA, "next")
        assert server.world.shown(ANNA) == ["echo: lamp off", "echo: next"]


async def test_what_was_written_long_ago_is_told_and_not_done(tmp_path: Path) -> None:
    async with platform() as server:
        server.world.now_s -= 3600
        await server.world.write("lamp on")
        server.world.now_s += 3600
        async with agent(server, tmp_path):
            async with asyncio.timeout(PATIENCE_S):
                while not server.world.shown(ANNA):  # noqa: ASYNC110 - another process answers
                    await asyncio.sleep(0.01)
            await server.world.write("next")
            await answered(server, ANNA, "next")
        told, following = server.world.shown(ANNA)
        assert "lamp on" in told
        assert not told.startswith("echo: ")
        assert following == "echo: next"
