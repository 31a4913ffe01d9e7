"""`barnacle run` with an app of Slack that is posted to: asked whether it is meant, and killed."""

import asyncio
import re
from pathlib import Path

from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.slack_poster import SIGNING_SECRET, posting
from tests.fakes.slack_server import BOT_TOKEN, SlackServer, running
from tests.fakes.slack_world import ANNA, DM, seen
from tests.waits import wait_until

QUESTION = "what time is it?"


def config(server: SlackServer, port: int) -> str:
    return (
        '[provider]\nkind = "offline"\n[embeddings]\nprovider = "none"\n'
        f'[gateway]\nlisten = "127.0.0.1:{port}"\n'
        f'[channels.slack]\nbase_url = "{server.url}"\ntoken = "{BOT_TOKEN}"\n'
        f'signing_secret = "{SIGNING_SECRET}"\n'
    )


def ask(server: SlackServer, words: str = QUESTION) -> None:
    """Each beneath a message of its own: its answer is known by where it stands."""
    server.world.post(DM, ANNA, words, thread_ts=server.world.stamp())


def answers(server: SlackServer) -> list[str]:
    """The threads with an answer."""
    mine = server.world.mine()
    return [one["thread_ts"] for one in mine if "It is " in seen(one)]


async def test_nothing_that_is_posted_is_lost_or_done_twice_over_a_kill(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    async with running() as server, posting(server.world, unused_tcp_port) as poster:
        with DaemonProcess(tmp_path, config(server, unused_tcp_port)) as agent:
            await wait_until(lambda: re.search(r"/pair ([A-Z0-9-]+)", agent.log()))
            code = re.search(r"/pair ([A-Z0-9-]+)", agent.log())
            assert code is not None
            told = await poster.say({"type": "url_verification", "challenge": "3eZbrw1aBm2rZg"})
            assert (told.status, told.said) == (200, "3eZbrw1aBm2rZg")
            server.world.post(DM, ANNA, f" {code[0]}")
            await wait_until(lambda: any("owner" in seen(one) for one in server.world.mine()))
            ask(server)
            await wait_until(lambda: len(answers(server)) == 1)
            [asked] = [one for one in poster.posted if QUESTION.encode() in one[1]]
            ask(server)
            agent.kill()
            # What comes now comes again until somebody is there
            ask(server)
            await asyncio.to_thread(agent.start)
            await wait_until(lambda: len({*answers(server)}) == 3)
            # Slack had not heard that the first one was taken
            again = await poster.post(asked[1], asked[0] | {"x-slack-retry-num": "1"})
            assert again.status == 200
            ask(server, f"and at last, {QUESTION}")
            await wait_until(lambda: len({*answers(server)}) == 4 and not server.world.waiting)
            assert await asyncio.to_thread(agent.stop) == 0
            hidden = (BOT_TOKEN, SIGNING_SECRET, "Traceback")
            assert not [text for text in hidden if text in agent.log()]
    # Slack knows no message again: what was on its way when the agent died may come twice
    assert len(answers(server)) - 4 in {0, 1}
