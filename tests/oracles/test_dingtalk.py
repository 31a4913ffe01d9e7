"""What dingtalk-stream does at our pretended DingTalk and reads there.

Its authors never saw our fake: where it lives in it as it does at home, the fake speaks as the
platform does. It has no calls for what the robot writes by itself; those are as documented alone.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agent.channels.dingtalk.receive import HEARD
from agent.messages import Attachment
from agent.net.http import HttpClient
from tests.contracts.listener import answer, listening
from tests.fakes import dingtalk_server
from tests.fakes.dingtalk_platform import channel_at
from tests.fakes.dingtalk_server import ANNA, BOT, CLIENT_ID, DM, ROOM, SECRET, DingTalkServer, Json
from tests.oracles import clients
from tests.waits import wait_until

TEXT, MARKED, TITLE = "It is warm_er.", "It is **warm**.", "It is warm."
FILE, CODE = b"%PDF-1.7 of a report", "mIofN681YE3f/+=="


@dataclass
class Lived:
    """The same done twice: by the library, and by the channel."""

    told: dict[str, Any]
    theirs: DingTalkServer
    ours: DingTalkServer
    messages: list[Json]


_lives: list[Lived] = []


@pytest.fixture
async def lived(tmp_path_factory: Any) -> Lived:
    """Made once: the library takes seconds to load."""
    clients.needed()
    if not _lives:
        _lives.append(await _live(tmp_path_factory.mktemp("life")))
    return _lives[0]


def _served() -> DingTalkServer:
    return DingTalkServer(files={CODE: FILE}, types={CODE: "application/octet-stream"})


async def _live(folder: Path) -> Lived:
    ours, theirs = _served(), _served()
    await _act(ours, folder)
    async with dingtalk_server.running(theirs):
        talk = {"url": theirs.url, "id": CLIENT_ID, "secret": SECRET, "text": TEXT, "code": CODE}
        talk |= {"title": TITLE, "marked": MARKED, "file": FILE.hex()}
        messages: list[Json] = []
        guide = asyncio.ensure_future(_guide(theirs, messages, lambda: theirs.uploads))
        try:
            told = await clients.told_by("dingtalk_app", talk)
            await guide
        finally:
            guide.cancel()
    return Lived(told, theirs, ours, messages)


async def _guide(
    server: DingTalkServer, messages: list[Json], has_acted: Callable[[], object]
) -> None:
    """What Anna and the platform do while somebody listens."""
    await wait_until(lambda: server.open)
    await server.ping("p-1")
    messages.append(await server.say(ANNA, ROOM, " hello"))
    picture = {"pictureDownloadCode": "p", "downloadCode": CODE, "type": "picture"}
    rich = {"richText": [{"text": "look"}, picture]}
    messages.append(await server.write(ANNA, DM, "richText", content=rich))
    messages.append(await server.say(ANNA, DM, "act"))
    await wait_until(has_acted)
    await wait_until(lambda: len(server.acknowledgements) >= 4)
    await server.disconnect()
    await wait_until(lambda: server.begun == 2)
    messages.append(await server.say(ANNA, DM, "leave"))
    await wait_until(lambda: len(server.acknowledgements) >= 5)


async def _act(server: DingTalkServer, folder: Path) -> None:
    """The channel does what the library is asked to do."""
    http = HttpClient()
    path = folder / "report.pdf"
    path.write_bytes(FILE)
    file = Attachment(str(path), "application/pdf", "report.pdf", len(FILE))
    async with dingtalk_server.running(server):
        channel = channel_at(server, http, folder)
        async with listening(channel) as listener:
            guide = asyncio.ensure_future(_guide(server, [], lambda: server.uploads))
            heard = (await listener.first(3))[2]
            await channel.send(answer(heard, TEXT))
            await channel.send(answer(heard, MARKED, 2))
            await channel.send(replace(answer(heard, "", 3), files=(file,)))
            await guide
    await http.aclose()


def _called(server: DingTalkServer, path: str) -> list[Any]:
    return [sorted(body) for body in server.called(path)]


async def test_the_library_reads_what_was_said(lived: Lived) -> None:
    told = []
    for one in lived.messages:
        calls = [BOT] if one["conversationId"] == ROOM else []
        texts = [one["text"]["content"]] if one["msgtype"] == "text" else ["look"]
        names = ("msgId", "conversationId", "conversationType", "senderStaffId", "senderId")
        known = [one[name] for name in names]
        known += [one["isInAtList"], calls, one["sessionWebhook"], one["sessionWebhookExpiredTime"]]
        told.append([*known, CLIENT_ID, texts, [CODE] if one["msgtype"] == "richText" else None])
    assert lived.told["messages"] == told


async def test_the_library_asks_for_the_same_and_begins_anew_when_it_is_told_to(
    lived: Lived,
) -> None:
    wanted = [{"type": "CALLBACK", "topic": HEARD}]
    assert lived.theirs.subscriptions == lived.ours.subscriptions == [wanted, wanted]
    assert lived.told["system"] == [
        ["ping", {"opaque": "p-1"}],
        ["disconnect", {"reason": "connection is expired"}],
    ]


async def test_the_library_acknowledges_as_we_do(lived: Lived) -> None:
    """It answers to the end of a connection too, which is asked of nobody."""
    shapes = []
    for server in (lived.theirs, lived.ours):
        told = [one for one in server.acknowledgements if "reason" not in one["data"]]
        assert json.loads(told[0]["data"]) == {"opaque": "p-1"}
        assert all("response" in json.loads(one["data"]) for one in told[1:])
        shapes.append([(one["code"], sorted(one), sorted(one["headers"])) for one in told])
    assert shapes[0] == shapes[1]
    assert len(shapes[0]) == 5


async def test_the_library_answers_as_the_channel_does(lived: Lived) -> None:
    def said(server: DingTalkServer) -> list[Any]:
        return [(one.where, one.kind, one.told) for one in server.messages if one.way == "hook"]

    assert said(lived.theirs) == said(lived.ours)
    assert said(lived.ours) == [
        (DM, "text", {"content": TEXT}),
        (DM, "markdown", {"title": TITLE, "text": MARKED}),
    ]
    assert lived.told["said"] == [{"errcode": 0, "errmsg": "ok"}] * 2


async def test_the_library_fetches_and_gives_files_as_the_channel_does(lived: Lived) -> None:
    assert bytes.fromhex(lived.told["file"]) == FILE
    assert [*lived.theirs.uploads.values()] == [*lived.ours.uploads.values()]
    assert [*lived.ours.uploads.values()] == [("report.pdf", FILE)]
    assert lived.told["media"] in lived.theirs.uploads
    for path in ("oauth2/accessToken", "messageFiles/download"):
        assert _called(lived.theirs, path) == _called(lived.ours, path)
    assert len(lived.theirs.tokens) == len(lived.ours.tokens) == 1
