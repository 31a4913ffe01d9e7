"""`barnacle run` with an app of Lark: paired, cut off in the middle, and killed."""

import asyncio
import re
import time
from pathlib import Path

from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.lark_server import ANNA, APP_ID, DM, SECRET, LarkServer, running, text_of
from tests.waits import wait_until

QUESTION = "what time is it?"


def config(url: str) -> str:
    return (
        '[provider]\nkind = "offline"\n[embeddings]\nprovider = "none"\n'
        f'[channels.lark]\nbase_url = "{url}"\napp_id = "{APP_ID}"\napp_secret = "{SECRET}"\n'
    )


def answered(server: LarkServer) -> list[str]:
    """The messages that an answer stands to, one for each answer."""
    return [one["answers"] for one in server.messages if "It is " in text_of(one)]


async def test_nothing_is_lost_or_doubled_over_cuts_and_kills(tmp_path: Path) -> None:
    async with running() as server:
        asked: list[str] = []

        async def ask() -> None:
            # What is much older than the start of the agent is not acted on
            now = {"create_time": str(time.time_ns() // 1_000_000)}
            told = await server.write(ANNA, DM, {"text": QUESTION}, **now)
            asked.append(told["event"]["message"]["message_id"])

        with DaemonProcess(tmp_path, config(server.url)) as agent:
            await wait_until(lambda: re.search(r"/pair ([A-Z0-9-]+)", agent.log()))
            code = re.search(r"/pair ([A-Z0-9-]+)", agent.log())
            assert code is not None
            await server.write(ANNA, DM, {"text": code[0]})
            await wait_until(lambda: any("owner" in text_of(one) for one in server.messages))
            await ask()
            await wait_until(lambda: len(answered(server)) == 1)
            # In the middle of what is asked and told
            await ask()
            server.cut()
            await ask()
            await wait_until(lambda: len({*answered(server)}) == 3)
            # Its token ends before its time
            server.tokens.append("another")
            await ask()
            await wait_until(lambda: len({*answered(server)}) == 4)
            await ask()
            agent.kill()
            await ask()
            await asyncio.to_thread(agent.start)
            await wait_until(lambda: len({*answered(server)}) == 6)
            await ask()
            await wait_until(lambda: asked[-1] in answered(server) and not server.pending)
            assert await asyncio.to_thread(agent.stop) == 0
    assert sorted(answered(server)) == sorted(asked)
