"""`barnacle run` with an app of DingTalk: paired, moved to another line, cut off, and killed."""

import asyncio
import re
from pathlib import Path

from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.dingtalk_server import ANNA, CLIENT_ID, DM, SECRET, DingTalkServer, running
from tests.waits import wait_until

QUESTION = " what time is it?"


def config(url: str) -> str:
    return (
        '[provider]\nkind = "offline"\n[embeddings]\nprovider = "none"\n'
        f'[channels.dingtalk]\nbase_url = "{url}"\nclient_id = "{CLIENT_ID}"\n'
        f'client_secret = "{SECRET}"\n'
    )


def room(number: int) -> str:
    """Each question has one of its own: its answer is known by where it stands."""
    return f"cidRoom{number}=="


async def ask(server: DingTalkServer, number: int) -> None:
    await say(server, number, QUESTION)


async def say(server: DingTalkServer, number: int, text: str) -> None:
    """While the robot is there, and until it has said that it is kept."""
    await wait_until(lambda: server.open)
    kept = len(server.acknowledgements)
    await server.say(ANNA, room(number), text)
    await wait_until(lambda: len(server.acknowledgements) > kept)


def answers(server: DingTalkServer, way: str) -> list[str]:
    """The rooms with an answer that went so."""
    found = (one for one in server.messages if one.way == way and "It is " in one.text)
    return sorted(one.where for one in found)


async def let_in(server: DingTalkServer, agent: DaemonProcess) -> None:
    """Anna, and the rooms."""
    await wait_until(lambda: server.open and re.search(r"/pair ([A-Z0-9-]+)", agent.log()))
    code = re.search(r"/pair ([A-Z0-9-]+)", agent.log())
    assert code is not None
    await server.say(ANNA, DM, code[0])
    await wait_until(lambda: any("owner" in one.text for one in server.messages))
    rooms = range(1, 7)
    for number in rooms:
        await say(server, number, " /pair group")
    await wait_until(lambda: {*map(room, rooms)} <= {one.where for one in server.messages})


async def test_nothing_is_lost_or_doubled_over_another_line_a_cut_and_a_kill(
    tmp_path: Path,
) -> None:
    async with running() as server:
        with DaemonProcess(tmp_path, config(server.url)) as agent:
            await let_in(server, agent)
            await ask(server, 1)
            await wait_until(lambda: answers(server, "hook") == [room(1)])
            await server.disconnect()
            await ask(server, 2)
            server.cut()
            await ask(server, 3)
            await wait_until(lambda: len(answers(server, "hook")) == 3 and server.begun == 3)
            server.loses_messages = True
            tries = len(server.called("sendBySession"))
            await ask(server, 4)
            await wait_until(lambda: len(server.called("sendBySession")) > tries)
            await ask(server, 5)
            agent.kill()
            server.loses_messages = False
            await asyncio.to_thread(agent.start)
            await wait_until(lambda: len(answers(server, "group")) == 2)
            await ask(server, 6)
            await wait_until(lambda: len(answers(server, "hook")) == 4)
            assert await asyncio.to_thread(agent.stop) == 0
    # The addresses that came with the questions are forgotten with the agent that was told them
    assert answers(server, "hook") == [room(number) for number in (1, 2, 3, 6)]
    assert answers(server, "group") == [room(4), room(5)]
    assert not server.told_away
