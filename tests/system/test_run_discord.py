"""`barnacle run` with a bot of Discord: paired, cut off in the middle, and killed."""

import asyncio
import re
from pathlib import Path

from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.discord_server import TOKEN, DiscordServer, Fault, running
from tests.fakes.discord_world import ANNA, BOT, DM, ROOM, Json
from tests.waits import wait_until

CALLED = f"<@{BOT['id']}>"


def config(url: str) -> str:
    return (
        '[provider]\nkind = "offline"\n[embeddings]\nprovider = "none"\n'
        f'[channels.discord]\nbase_url = "{url}"\ntoken = "{TOKEN}"\n'
    )


def mine(server: DiscordServer) -> list[Json]:
    return [one for one in server.world.messages.values() if one["author"] is BOT]


def answered(server: DiscordServer) -> list[str]:
    """The messages that an answer stands to, one for each answer."""
    told = [one for one in mine(server) if "It is " in one["content"]]
    return [one["message_reference"]["message_id"] for one in told]


class Asked:
    """What Anna asks in the room."""

    def __init__(self, server: DiscordServer) -> None:
        self.ids: list[str] = []
        self._server = server

    def ask(self) -> None:
        told = self._server.world.post(ROOM, ANNA, f"{CALLED} what time is it?")
        self.ids.append(told["id"])

    async def answered(self) -> None:
        await wait_until(lambda: {*self.ids} <= {*answered(self._server)})


async def begin(agent: DaemonProcess, server: DiscordServer) -> None:
    """The owner is known, and the agent speaks in the room."""
    await wait_until(lambda: re.search(r"/pair ([A-Z0-9-]+)", agent.log()))
    code = re.search(r"/pair ([A-Z0-9-]+)", agent.log())
    assert code is not None
    await wait_until(lambda: server.world.sessions)
    server.world.post(DM, ANNA, code[0])
    await wait_until(lambda: any("owner" in one["content"] for one in mine(server)))
    server.world.post(ROOM, ANNA, f"{CALLED} /pair group")
    await wait_until(lambda: any("/pair group off" in one["content"] for one in mine(server)))


async def test_nothing_is_lost_or_doubled_over_cuts_and_kills(tmp_path: Path) -> None:
    async with running() as server:
        anna = Asked(server)
        with DaemonProcess(tmp_path, config(server.url)) as agent:
            await begin(agent, server)
            anna.ask()
            await anna.answered()
            # In the middle of what is asked and told
            anna.ask()
            server.cut()
            anna.ask()
            await anna.answered()
            # Told to take its session up elsewhere
            server.say({"op": 7, "d": None})
            anna.ask()
            await anna.answered()
            # Killed where the platform has an answer and its word is lost on the way
            server.faults.append(Fault("POST", f"/channels/{ROOM}/messages", cuts=True, acts=True))
            anna.ask()
            await anna.answered()
            agent.kill()
            anna.ask()
            await asyncio.to_thread(agent.start)
            await anna.answered()
            anna.ask()
            await anna.answered()
            assert await asyncio.to_thread(agent.stop) == 0
        # In one session all along: it was taken up, not begun anew
        assert len(server.heard(2)) == 1
    assert sorted(answered(server)) == sorted(anna.ids)
