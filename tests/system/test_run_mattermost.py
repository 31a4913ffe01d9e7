"""`barnacle run` with a bot on a Mattermost server: paired, cut off, and killed over a file."""

import asyncio
import re
from collections import Counter
from pathlib import Path

from agent.security.received import RECEIVED
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.mattermost_server import ANNA, DM, ME, TOKEN, MattermostServer, running
from tests.waits import wait_until

QUESTION = "what time is it?"


def config(url: str) -> str:
    return (
        '[provider]\nkind = "offline"\n[embeddings]\nprovider = "none"\n'
        f'[channels.mattermost]\nbase_url = "{url}"\ntoken = "{TOKEN}"\n'
    )


def ask(server: MattermostServer, words: str = QUESTION) -> str:
    """Each beneath a post of its own: its answer is known by where it stands."""
    above = server.post(DM, ANNA, "above", type="system_generic")["id"]
    server.post(DM, ANNA, words, root_id=above)
    return str(above)


def told(server: MattermostServer, wanted: str) -> list[str]:
    """The threads in which the bot has said it."""
    mine = [one for one in server.posts.values() if one["user_id"] == ME]
    return [one["root_id"] for one in mine if wanted in one["message"]]


def answers(server: MattermostServer) -> Counter[str]:
    return Counter(told(server, "It is "))


async def pair(server: MattermostServer, agent: DaemonProcess) -> None:
    await wait_until(lambda: server.entered and re.search(r"/pair ([A-Z0-9-]+)", agent.log()))
    code = re.search(r"/pair ([A-Z0-9-]+)", agent.log())
    assert code is not None
    server.post(DM, ANNA, code[0])
    await wait_until(lambda: told(server, "owner"))


async def test_nothing_is_lost_or_answered_twice_over_a_cut_and_a_kill(tmp_path: Path) -> None:
    async with running() as server:
        with DaemonProcess(tmp_path, config(server.url)) as agent:
            await pair(server, agent)
            asked = [ask(server)]
            await wait_until(lambda: len(answers(server)) == 1)
            server.cut()
            await wait_until(lambda: not server.entered)
            asked += [ask(server), ask(server)]
            await wait_until(lambda: len(answers(server)) == 3)
            asked.append(ask(server))
            # Its answer is on its way, and perhaps a draft of it stands there
            await wait_until(lambda: len(answers(server)) == 4)
            await wait_until(agent.has_recorded)
            agent.kill()
            asked += [ask(server), ask(server)]
            await asyncio.to_thread(agent.start)
            await wait_until(lambda: len(answers(server)) == 6)
            # Once more by the socket what was read by asking
            server.tell(next(one for one in server.posts.values() if one["root_id"] == asked[4]))
            asked.append(ask(server, f"and at last, {QUESTION}"))
            await wait_until(lambda: len(answers(server)) == 7)
            assert await asyncio.to_thread(agent.stop) == 0
            assert not [text for text in (TOKEN, "Traceback") if text in agent.log()]
    # A server takes an answer once, and a draft that stood there becomes it
    assert answers(server) == Counter(asked)


async def test_a_file_that_was_on_its_way_when_the_agent_died_is_had_afterwards(
    tmp_path: Path,
) -> None:
    async with running() as server:
        with DaemonProcess(tmp_path, config(server.url)) as agent:
            await pair(server, agent)
            server.may_hand_out.clear()
            file = server.keep("sheet.pdf", b"%PDF-1.7 of a datasheet")
            server.post(DM, ANNA, "look at this", file_ids=[file])
            await wait_until(lambda: ("GET", f"/files/{file}") in server.calls)
            # What cannot wait is heard over it
            server.post(DM, ANNA, "/stop")
            await wait_until(lambda: len(told(server, "")) == 2)
            agent.kill()
            server.may_hand_out.set()
            await asyncio.to_thread(agent.start)
            received = tmp_path / "state" / "workspace" / RECEIVED
            await wait_until(lambda: [*received.rglob("*.pdf")])
            ask(server)
            await wait_until(lambda: len(answers(server)) == 1)
            [kept] = received.rglob("*.pdf")
            assert kept.read_bytes() == b"%PDF-1.7 of a datasheet"
            assert await asyncio.to_thread(agent.stop) == 0
