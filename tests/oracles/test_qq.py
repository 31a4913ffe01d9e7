"""What qq-botpy does at our pretended QQ and reads there, and what it says as we do.

Its authors never saw our fake: where it lives in it as it does at home, the fake speaks as the
platform does.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agent.messages import Attachment
from agent.net.http import HttpClient
from tests.contracts.listener import answer, listening
from tests.fakes import qq_server
from tests.fakes.qq_platform import channel_at
from tests.fakes.qq_server import (
    ANNA,
    ANNA_IN_GUILD,
    ANNA_IN_ROOM,
    APP_ID,
    BOT,
    CHANNEL,
    DM,
    ROOM,
    SECRET,
    Json,
    QqServer,
)
from tests.oracles import clients
from tests.waits import wait_until

CONTENT = "It is warm."
FILE = b"\x89PNG of a picture"
IDENTIFY, RESUME, HEARTBEAT = 2, 6, 1


@dataclass
class Lived:
    """The same done twice: by the library, and by the channel."""

    told: dict[str, Any]
    theirs: QqServer
    ours: QqServer
    events: list[Json]


_lives: list[Lived] = []


@pytest.fixture
async def lived(tmp_path_factory: Any) -> Lived:
    """Made once: the library takes seconds to load."""
    clients.needed()
    if not _lives:
        _lives.append(await _live(tmp_path_factory.mktemp("life")))
    return _lives[0]


async def _live(folder: Path) -> Lived:
    # It waits five seconds by as many before another connection
    async with qq_server.running(QqServer(concurrency=50)) as server:
        events: list[Json] = []
        guide = asyncio.ensure_future(_guide(server, events))
        talk = {"url": server.url, "app_id": APP_ID, "secret": SECRET, "content": CONTENT}
        try:
            told = await clients.told_by("qq_bot", talk)
            await guide
        finally:
            guide.cancel()
    return Lived(told, server, await _act(folder), events)


async def _guide(server: QqServer, events: list[Json]) -> None:
    """What Anna does while the library is there."""
    await wait_until(lambda: any(one["op"] == HEARTBEAT for one in server.said))
    picture = {"content_type": "image/png", "filename": "p.png", "url": "https://a.qq.com/p"}
    events.append(server.write("look", attachments=[picture]))
    events.append(server.write_in_room("hello"))
    events.append(server.write_in_guild("hello"))
    events.append(server.write_in_private_of_guild("hello"))
    events.append(server.write("act"))
    await wait_until(
        lambda: len(server.messages) == 5 and len(server.called("POST", "/messages")) == 8
    )
    server.cut()
    events.append(server.write("meanwhile"))
    await wait_until(lambda: any(one["op"] == RESUME for one in server.said))
    events.append(server.write("leave"))


async def _act(folder: Path) -> QqServer:
    """The channel does what the library is asked to do."""
    http = HttpClient()
    path = folder / "p.png"
    path.write_bytes(FILE)
    picture = Attachment(str(path), "image/png", "p.png", len(FILE))
    async with qq_server.running() as server:
        channel = channel_at(server, http, folder)
        async with listening(channel) as listener:
            await wait_until((folder / "qq" / "session.json").exists)
            server.write("act")
            server.write_in_room("hello")
            server.write_in_guild("hello")
            server.write_in_private_of_guild("hello")
            first, *others = await listener.first(4)
            await channel.send(replace(answer(first, CONTENT, 1), files=(picture,)))
            for number, heard in enumerate(others, 2):
                await channel.send(answer(heard, CONTENT, number))
            server.cut()
            await wait_until(lambda: any(one["op"] == RESUME for one in server.said))
    await http.aclose()
    return server


async def test_the_library_reads_what_people_wrote_and_where(lived: Lived) -> None:
    places = {
        "C2C_MESSAGE_CREATE": (ANNA, None),
        "GROUP_AT_MESSAGE_CREATE": (ANNA_IN_ROOM, ROOM),
        "AT_MESSAGE_CREATE": (ANNA_IN_GUILD, CHANNEL),
        "DIRECT_MESSAGE_CREATE": (ANNA_IN_GUILD, DM),
    }
    wanted = []
    for event in lived.events:
        told = event["d"]
        files = [
            [one["content_type"], one["filename"], one["url"]]
            for one in told.get("attachments", ())
        ]
        known = [told["id"], told["content"], told["timestamp"], *places[event["t"]]]
        wanted.append([*known, files])
    assert lived.told["messages"] == wanted
    assert lived.told["me"] == ["Barnacle", BOT]


async def test_the_library_begins_once_and_goes_on_after_a_cut_as_we_do(lived: Lived) -> None:
    assert (lived.told["ready"], lived.told["resumed"]) == (1, 1)
    for op, more in ((IDENTIFY, {"properties"}), (RESUME, set())):
        [theirs] = [one["d"] for one in lived.theirs.said if one["op"] == op]
        [ours] = [one["d"] for one in lived.ours.said if one["op"] == op]
        assert ours.keys() == theirs.keys() | more
    [ours] = [one["d"] for one in lived.ours.said if one["op"] == IDENTIFY]
    assert ours["intents"] == lived.told["intents"]


async def test_the_library_says_what_the_channel_says(lived: Lived) -> None:
    def said(server: QqServer) -> dict[str, list[Any]]:
        told: dict[str, list[Any]] = {}
        for one in server.messages:
            kind = one["place"].partition("/")[0]
            seq = None if kind in {"channels", "dms"} else (one.get("msg_seq"), one.get("msg_type"))
            told.setdefault(kind, []).append((seq, one.get("content"), "media" in one))
        return told

    assert said(lived.theirs) == said(lived.ours)
    for pattern in ("/users/.*/messages", "/users/.*/files"):
        theirs, ours = (one.called("POST", pattern)[0] for one in (lived.theirs, lived.ours))
        # A file itself in place of its address, which the library does not know
        assert ours.keys() - {"file_data"} <= theirs.keys()


async def test_the_library_is_refused_as_it_is_at_home(lived: Lived) -> None:
    repeated, unknown, unasked = lived.told["refused"]
    assert "msgseq" in repeated[1]
    assert "msg_id" in unknown[1]
    assert "主动消息" in unasked[1]
