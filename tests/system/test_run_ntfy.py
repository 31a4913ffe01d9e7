"""`barnacle run` with an ntfy topic: paired, cut off, and killed while something is on its way."""

import asyncio
import re
from pathlib import Path

from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.ntfy_server import NtfyServer, running
from tests.waits import wait_until

TOPIC = "greenhouse-4711"


def config(url: str) -> str:
    return (
        '[provider]\nkind = "offline"\n[embeddings]\nprovider = "none"\n'
        f'[channels.ntfy]\nbase_url = "{url}"\ntopic = "{TOPIC}"\n'
    )


def told(server: NtfyServer, wanted: str) -> set[str]:
    """The answers with these words, each once however often it was sent."""
    ours = [one for one in server.cache if "robot" in one.get("tags", ())]
    return {one["sequence_id"] for one in ours if wanted in one["message"]}


async def test_nothing_is_lost_or_doubled_over_a_cut_and_a_kill(tmp_path: Path) -> None:
    async with running(NtfyServer()) as server:
        with DaemonProcess(tmp_path, config(server.url)) as agent:
            await wait_until(lambda: re.search(r"/pair ([A-Z0-9-]+)", agent.log()))
            code = re.search(r"/pair ([A-Z0-9-]+)", agent.log())
            assert code is not None
            await wait_until(lambda: server.opened)
            server.publish(TOPIC, code[0])
            await wait_until(lambda: any("owner" in one["message"] for one in server.cache))
            server.publish(TOPIC, "what time is it?")
            await wait_until(lambda: len(told(server, "It is ")) == 1)
            server.cut()
            server.publish(TOPIC, "and now, what time is it?")
            await wait_until(lambda: len(told(server, "It is ")) == 2)
            await wait_until(agent.has_recorded)
            server.publish(TOPIC, "what time is it?")
            agent.kill()
            server.publish(TOPIC, "what time is it?")
            await asyncio.to_thread(agent.start)
            await wait_until(lambda: len(told(server, "It is ")) == 4)
            server.publish(TOPIC, "and at last, what time is it?")
            await wait_until(lambda: len(told(server, "It is ")) == 5)
            assert await asyncio.to_thread(agent.stop) == 0
    assert len(told(server, "It is ")) == 5
