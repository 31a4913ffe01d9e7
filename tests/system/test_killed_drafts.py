"""`barnacle run` killed while an answer grows in the chat: it stands there once, and whole."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

from tests.fakes import discord_server, llm_server, telegram_server
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.discord_world import ANNA, BOT, DM
from tests.fakes.llm_server import Json, Reply, events, sse, streamed
from tests.fakes.telegram_world import GROUP, USERNAME
from tests.waits import wait_until

WHOLE = "The lamp is on, the door is shut and the window has been open since noon."
BEGUN = "The lamp is on, the door"


class Model:
    """Begins its first answer and falls silent; the next one is whole, and comes piece by piece."""

    def __init__(self) -> None:
        self.is_silent = True

    def __call__(self, _request: Json) -> Reply:
        if self.is_silent:
            begun = [one for one in events(BEGUN) if one["choices"]][:-1]
            return Reply(sse(*begun, done=False), stalls=True)
        return streamed(WHOLE, piece_bytes=400, pause_s=0.05)


def config(model_url: str, channel: str) -> str:
    return (
        f'[provider]\nbase_url = "{model_url}"\nmodel = "fake"\n[embeddings]\nprovider = "none"\n'
        f"{channel}\n"
    )


async def code_of(agent: DaemonProcess) -> str:
    await wait_until(lambda: re.search(r"/pair ([A-Z0-9-]+)", agent.log()))
    code = re.search(r"/pair ([A-Z0-9-]+)", agent.log())
    assert code is not None
    return code[0]


def _is_begun(shown: list[str]) -> bool:
    """In a group the last word is held back while it may become an address."""
    return len(shown) == 1 and bool(shown[0]) and BEGUN.startswith(shown[0])


async def live_through(
    agent: DaemonProcess, kept: Path, model: Model, shown: Callable[[], list[str]]
) -> None:
    """Killed when the answer is begun, and once more when it is whole."""
    # Which message it is has to be on record: only a cut in the moment before shows it twice
    await wait_until(lambda: _is_begun(shown()) and kept.exists())
    agent.kill()
    model.is_silent = False
    await asyncio.to_thread(agent.start)
    # What is whole in the chat and not in the journal breaks off a second time, and is parked
    await wait_until(lambda: shown() == [WHOLE] and agent.has_recorded())
    agent.kill()
    await asyncio.to_thread(agent.start)


async def test_on_discord(tmp_path: Path) -> None:
    model = Model()
    async with discord_server.running() as server, llm_server.running(model) as service:
        told = server.world.messages

        def shown() -> list[str]:
            every = [one["content"] for one in told.values() if one["author"] is BOT]
            return every[1:]

        channel = f'[channels.discord]\nbase_url = "{server.url}"\ntoken = "{discord_server.TOKEN}"'
        with DaemonProcess(tmp_path, config(service.base_url, channel)) as agent:
            code = await code_of(agent)
            await wait_until(lambda: server.world.sessions)
            server.world.post(DM, ANNA, code)
            await wait_until(lambda: len(told) == 2)
            server.world.post(DM, ANNA, "How is it at home?")
            await live_through(agent, tmp_path / "state" / "discord" / "begun.json", model, shown)
            server.world.post(DM, ANNA, "And now?")
            await wait_until(lambda: shown()[1:] == [WHOLE])
            assert await asyncio.to_thread(agent.stop) == 0
        assert shown() == [WHOLE, WHOLE]


async def test_on_telegram(tmp_path: Path) -> None:
    model = Model()
    async with telegram_server.running() as server, llm_server.running(model) as service:
        server.longest_poll_s = 1.0
        world = server.world

        def shown() -> list[str]:
            return world.shown(GROUP)[1:]

        channel = f'[channels.telegram]\nbase_url = "{server.base_url}"\ntoken = "{server.token}"'
        with DaemonProcess(tmp_path, config(service.base_url, channel)) as agent:
            await world.write(await code_of(agent))
            await wait_until(world.shown)
            # In private Telegram has drafts of its own, which go by themselves
            await world.write(f"@{USERNAME} /pair group", GROUP)
            await wait_until(lambda: world.shown(GROUP))
            await world.write(f"@{USERNAME} How is it at home?", GROUP)
            await live_through(agent, tmp_path / "state" / "telegram" / "begun.json", model, shown)
            await world.write(f"@{USERNAME} And now?", GROUP)
            await wait_until(lambda: shown()[1:] == [WHOLE])
            assert await asyncio.to_thread(agent.stop) == 0
        assert shown() == [WHOLE, WHOLE]
