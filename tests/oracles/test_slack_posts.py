"""What slack-sdk takes for true of what our pretended Slack posts, and what we take of it.

Its verifier signs and checks as the platform does: it holds both our side of the signature and the
one that tests us.
"""

import asyncio
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.channels.slack.events_api import is_true, signature
from agent.channels.slack.markup import shown
from tests.contracts.listener import answer, listening
from tests.fakes import slack_server
from tests.fakes.slack_posted_platform import running
from tests.fakes.slack_poster import SIGNING_SECRET, posting, signed
from tests.fakes.slack_server import BOT_TOKEN, SlackServer
from tests.fakes.slack_world import ANNA, DM, ME
from tests.oracles import clients
from tests.waits import wait_until

CHALLENGE = "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"
CONTENT = "It is **warm** & dry."
LABEL = {"type": "plain_text", "text": "No"}
BUTTON = {"type": "button", "text": LABEL, "action_id": "no", "value": "no:abcd"}
BUTTONS = {"type": "actions", "elements": [BUTTON]}
TYPED = {"command": "/barnacle", "text": "status", "user_id": ANNA, "channel_id": DM}
BODIES = ('{"type":"event_callback","event":{"text":"Grüße 👋"}}', "payload=%7B%7D", "")


@dataclass
class Lived:
    """What the library made of a life in the pretended Slack."""

    told: dict[str, Any]
    server: SlackServer
    challenged: str
    forged: list[int]


_lives: list[Lived] = []


@pytest.fixture
async def lived(unused_tcp_port: int) -> Lived:
    """Made once: the library takes seconds to load."""
    clients.needed()
    if not _lives:
        _lives.append(await _watch(unused_tcp_port))
    return _lives[0]


async def _watch(port: int) -> Lived:
    async with slack_server.running() as server, posting(server.world, port) as poster:
        talk = {"url": server.url, "bot": BOT_TOKEN, "secret": SIGNING_SECRET, "port": port}
        talk |= {"draft": "It", "text": shown(CONTENT)}
        talk["sign"] = [(f"{1_790_000_000 + number}", one) for number, one in enumerate(BODIES)]
        asking = asyncio.ensure_future(clients.told_by("slack_posted_app", talk))
        try:
            asked = {"token": "-", "challenge": CHALLENGE, "type": "url_verification"}

            async def answered() -> Any:
                await _until(asking, lambda: True)
                told = await poster.say(asked)
                return told if told.status == 200 else None

            challenged = await wait_until(answered, look_s=0.05)
            forged = [(await poster.post(b"{}", one)).status for one in _forged()]
            server.world.post(DM, ANNA, "act")
            await _until(asking, server.world.mine)
            question = {"channel": DM, "text": "May I?", "blocks": [BUTTONS]}
            shown_ts = server.world.call("chat.postMessage", question)["ts"]
            server.world.press(server.world.messages[DM, shown_ts], "No")
            server.world.tell("slash_commands", TYPED)
            server.world.post(DM, ANNA, "again")
            await _until(asking, lambda: not server.world.waiting)
            server.world.post(DM, ANNA, "leave")
            return Lived(await asking, server, challenged.said, forged)
        finally:
            asking.cancel()
            await asyncio.wait([asking])


def _forged() -> list[dict[str, Any]]:
    right = signed(b"{}")
    return [
        signed(b"{}", "another-secret"),
        signed(b"{ }"),
        signed(b"{}", ago_s=400),
        {**right, "x-slack-signature": "v0=00"},
    ]


async def _until(asking: "asyncio.Future[Any]", condition: Any) -> None:
    """A library in a process of its own takes longer than `until` allows."""
    await wait_until(lambda: asking.done() or condition())
    if asking.done():
        asking.result()


async def test_the_library_takes_our_posts_for_slacks(lived: Lived) -> None:
    assert lived.told["me"] == ME
    assert lived.challenged == CHALLENGE
    texts = [[text, user] for _, text, user in lived.told["texts"]]
    assert texts == [["act", ANNA], ["again", ANNA], ["leave", ANNA]]
    assert all(known.startswith("Ev") for known, _, _ in lived.told["texts"])
    assert not lived.server.world.waiting


async def test_the_library_refuses_what_we_refuse(lived: Lived) -> None:
    assert lived.forged == [401] * 4
    assert lived.told["refused"] == 4


async def test_the_library_reads_buttons_and_commands(lived: Lived) -> None:
    assert lived.told["pressed"] == [["no:abcd", ANNA, DM]]
    assert lived.told["typed"] == [["/barnacle", "status", ANNA, DM, True]]


async def test_what_failed_comes_again_with_its_number(lived: Lived) -> None:
    assert lived.told["again"] == [["1", "http_error"]]


async def test_our_signatures_are_the_librarys(lived: Lived) -> None:
    ours = [
        signature(SIGNING_SECRET, f"{1_790_000_000 + number}", body.encode())
        for number, body in enumerate(BODIES)
    ]
    assert lived.told["signed"] == ours


async def test_what_the_library_signs_is_heard(tmp_path: Path, unused_tcp_port: int) -> None:
    clients.needed()
    event = {"type": "message", "channel": DM, "user": ANNA, "ts": "1790000000.000001"}
    told = {"type": "event_callback", "event_id": "Ev0LIB", "event": event | {"text": "Grüße 👋"}}
    told["event"]["channel_type"] = "im"
    body, now = json.dumps(told), str(int(time.time()))
    async with running(tmp_path) as platform:
        talk = {"url": platform.server.url, "bot": BOT_TOKEN, "secret": SIGNING_SECRET}
        talk |= {"draft": "", "text": "", "sign": [(now, body)], "port": unused_tcp_port}
        leave = {
            "type": "event_callback",
            "event_id": "Ev1",
            "event": {"text": "leave", "user": ""},
        }
        asking = asyncio.ensure_future(clients.told_by("slack_posted_app", talk))
        async with posting(platform.server.world, unused_tcp_port) as poster:

            async def has_left() -> bool:
                await poster.say(leave)
                return asking.done()

            await wait_until(has_left, look_s=0.05)
        [theirs] = (await asking)["signed"]
        headers = {"x-slack-request-timestamp": now, "x-slack-signature": theirs}
        assert is_true(SIGNING_SECRET, headers, body.encode())
        assert not is_true("another-secret", headers, body.encode())
        async with listening(platform.channel) as listener:
            await platform.write("first")
            await listener.first()
            headers["content-type"] = "application/json"
            assert (await platform.poster.post(body.encode(), headers)).status == 200
            heard = (await listener.first(2))[1]
            assert heard.text == "Grüße 👋"
            await platform.channel.send(answer(heard, CONTENT))
            await wait_until(lambda: platform.shown(heard))


async def test_the_library_says_what_we_say(lived: Lived) -> None:
    [said] = [body["text"] for body in lived.server.called("chat.update")]
    assert said == shown(CONTENT)
