"""`barnacle run` with a pretended Mac: paired, cut off, and killed while something is going."""

import asyncio
import re
from pathlib import Path

from tests.fakes.bluebubbles_server import PASSWORD, BlueBubblesServer, running
from tests.fakes.daemon_process import DaemonProcess
from tests.waits import wait_until


def config(url: str) -> str:
    return (
        '[provider]\nkind = "offline"\n[embeddings]\nprovider = "none"\n'
        f'[channels.imessage]\nbase_url = "{url}"\npassword = "{PASSWORD}"\n'
    )


def told(server: BlueBubblesServer, wanted: str) -> int:
    return sum(wanted in one["text"] for one in server.ours())


async def test_nothing_is_lost_or_doubled_over_a_cut_and_a_kill(tmp_path: Path) -> None:
    async with running(BlueBubblesServer()) as server:
        with DaemonProcess(tmp_path, config(server.url)) as agent:
            await wait_until(lambda: re.search(r"/pair ([A-Z0-9-]+)", agent.log()))
            code = re.search(r"/pair ([A-Z0-9-]+)", agent.log())
            assert code is not None
            await wait_until(lambda: server.looked)
            server.write(code[0])
            await wait_until(lambda: told(server, "owner"))
            server.write("what time is it?")
            await wait_until(lambda: told(server, "It is ") == 1)
            server.cut()
            server.loses_receipt = True
            server.write("and now, what time is it?")
            await wait_until(lambda: told(server, "It is ") == 2)
            await wait_until(agent.has_recorded)
            server.write("what time is it?")
            agent.kill()
            server.write("what time is it?")
            await asyncio.to_thread(agent.start)
            await wait_until(lambda: told(server, "It is ") == 4)
            server.write("and at last, what time is it?")
            await wait_until(lambda: told(server, "It is ") == 5)
            log = agent.log()
            assert await asyncio.to_thread(agent.stop) == 0
    assert told(server, "It is ") == 5
    assert PASSWORD not in log
    assert "password=" not in log
