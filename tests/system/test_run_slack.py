"""`barnacle run` with an app of Slack: paired, cut off, moved to another line, and killed."""

import asyncio
import re
from pathlib import Path

from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.slack_server import APP_TOKEN, BOT_TOKEN, SlackServer, running
from tests.fakes.slack_world import ANNA, DM, seen
from tests.waits import wait_until

QUESTION = "what time is it?"


def config(url: str) -> str:
    return (
        '[provider]\nkind = "offline"\n[embeddings]\nprovider = "none"\n'
        f'[channels.slack]\nbase_url = "{url}"\ntoken = "{BOT_TOKEN}"\napp_token = "{APP_TOKEN}"\n'
    )


def ask(server: SlackServer, words: str = QUESTION) -> None:
    """Each beneath a message of its own: its answer is known by where it stands."""
    server.world.post(DM, ANNA, words, thread_ts=server.world.stamp())


def answers(server: SlackServer) -> list[str]:
    """The threads with an answer."""
    mine = server.world.mine()
    return [one["thread_ts"] for one in mine if "It is " in seen(one)]


async def test_nothing_is_lost_over_a_cut_another_line_and_a_kill(tmp_path: Path) -> None:
    async with running() as server:
        with DaemonProcess(tmp_path, config(server.url)) as agent:
            await wait_until(lambda: re.search(r"/pair ([A-Z0-9-]+)", agent.log()))
            code = re.search(r"/pair ([A-Z0-9-]+)", agent.log())
            assert code is not None
            server.world.post(DM, ANNA, f" {code[0]}")
            await wait_until(lambda: any("owner" in seen(one) for one in server.world.mine()))
            ask(server)
            await wait_until(lambda: len(answers(server)) == 1)
            await server.disconnect("warning")
            ask(server)
            await wait_until(lambda: len(answers(server)) == 2 and server.begun == 2)
            server.cut()
            ask(server)
            await wait_until(lambda: len(answers(server)) == 3)
            await wait_until(agent.has_recorded)
            ask(server)
            agent.kill()
            ask(server)
            await asyncio.to_thread(agent.start)
            await wait_until(lambda: len({*answers(server)}) == 5)
            ask(server, f"and at last, {QUESTION}")
            await wait_until(lambda: len({*answers(server)}) == 6 and not server.world.waiting)
            assert await asyncio.to_thread(agent.stop) == 0
    assert len(answers(server)) == 6
