"""`barnacle run` with a bot of QQ: paired, cut off, kept from answering, and killed."""

import asyncio
import re
from pathlib import Path

from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.qq_server import APP_ID, SECRET, QqServer, running
from tests.waits import wait_until


def config(url: str) -> str:
    return (
        '[provider]\nkind = "offline"\n[embeddings]\nprovider = "none"\n'
        f'[channels.qq]\nbase_url = "{url}"\nauth_url = "{url}"\n'
        f'app_id = "{APP_ID}"\napp_secret = "{SECRET}"\n'
    )


def ask(server: QqServer) -> str:
    """Each answer goes to the message that it answers, and is known by that."""
    return str(server.write("what time is it?")["d"]["id"])


def answers(server: QqServer) -> list[str]:
    """Which messages were answered with the time, in the order of the answers."""
    return [one["msg_id"] for one in server.messages if "It is " in one["content"]]


async def begun(server: QqServer, agent: DaemonProcess) -> None:
    """Somebody is the owner."""
    await wait_until(lambda: server.sessions and re.search(r"/pair ([A-Z0-9-]+)", agent.log()))
    code = re.search(r"/pair ([A-Z0-9-]+)", agent.log())
    assert code is not None
    server.write(code[0])
    await wait_until(lambda: any("owner" in one["content"] for one in server.messages))


async def killed(agent: DaemonProcess) -> None:
    agent.kill()
    await asyncio.to_thread(agent.start)


async def test_nothing_is_lost_or_said_twice_over_a_cut_and_a_kill(tmp_path: Path) -> None:
    async with running() as server:
        with DaemonProcess(tmp_path, config(server.url)) as agent:
            await begun(server, agent)
            asked = [ask(server)]
            await wait_until(lambda: answers(server) == asked)
            server.cut()
            asked.append(ask(server))
            await wait_until(lambda: answers(server) == asked)
            # One is on its way, one comes while nobody is there
            asked.append(ask(server))
            agent.kill()
            asked.append(ask(server))
            await asyncio.to_thread(agent.start)
            await wait_until(lambda: sorted(answers(server)) == sorted(asked))
            asked.append(ask(server))
            await wait_until(lambda: len(answers(server)) == len(asked))
            assert await asyncio.to_thread(agent.stop) == 0
        assert sorted(answers(server)) == sorted(asked)
        assert not [text for text in (SECRET, "Traceback") if text in agent.log()]


async def test_what_may_not_be_said_waits_for_the_next_word_over_a_kill_and_goes_first(
    tmp_path: Path,
) -> None:
    async with running() as server:
        with DaemonProcess(tmp_path, config(server.url)) as agent:
            await begun(server, agent)
            server.is_shut = True
            asked = ask(server)
            await wait_until(lambda: "waits until something is written there" in agent.log())
            server.closed.update(server.written)
            server.is_shut = False
            await killed(agent)
            last = server.write("/help")["d"]["id"]
            await wait_until(lambda: len(server.messages) == 3)
            assert await asyncio.to_thread(agent.stop) == 0
        late, helped = server.messages[1:]
        assert (late["msg_id"], late["msg_seq"]) == (last, 1)
        assert "It is " in late["content"]
        assert (helped["msg_id"], helped["msg_seq"]) == (last, 2)
        assert "/pair" in helped["content"]
        assert server.written[asked][1] == []
