"""What lark-oapi does at our pretended Lark and reads there, and frames byte for byte.

Its authors never saw our fake: where it lives in it as it does at home, the fake speaks as the
platform does. A frame is what the vendor's own class writes.
"""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from agent.channels.base import Mark, Question
from agent.channels.lark.frames import CONTROL, DATA, LarkFrame, acknowledged, encode, ping
from agent.messages import Attachment
from agent.net.http import HttpClient
from tests.contracts.listener import answer, listening
from tests.fakes import lark_server
from tests.fakes.lark_platform import CALLED, MENTIONS, channel_at
from tests.fakes.lark_server import ANNA, APP_ID, BOT, DM, ROOM, SECRET, Json, LarkServer
from tests.oracles import clients
from tests.waits import wait_until

FILE = b"%PDF-1.7 of a report"
QUESTION = Question("board_gpio_write", "{}", "it moves something")
CONTENT = "It is warm."
EVENT = LarkFrame(
    33554678,
    DATA,
    (("type", "event"), ("message_id", "m-1"), ("sum", "1"), ("seq", "0"), ("trace_id", "t")),
    '{"schema":"2.0","text":"größer 💡"}'.encode(),
    1,
    (1 << 64) - 1,
)
FRAMES = (
    ping(33554678),
    ping(0),
    EVENT,
    acknowledged(EVENT, 3),
    LarkFrame(-1, CONTROL, (("", ""),), b"", 0, 0, "", "json", "0a"),
    LarkFrame(2147483647, DATA, (), bytes(range(256)) * 3, 300, 70000, "gzip", None, None),
)


@dataclass
class Lived:
    """The same done twice: by the library, and by the channel."""

    told: dict[str, Any]
    theirs: LarkServer
    ours: LarkServer
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
    ours, card = await _act(folder)
    server = LarkServer(part_bytes=90, ping_every_s=77)
    async with lark_server.running(server):
        talk = {"url": server.url, "app_id": APP_ID, "secret": SECRET, "content": CONTENT}
        talk |= {"file": FILE.hex(), "card": card["content"]}
        events: list[Json] = []
        guide = asyncio.ensure_future(_guide(server, events))
        try:
            told = await clients.told_by("lark_app", {**talk, **_frames()})
            await guide
        finally:
            guide.cancel()
        return Lived(told, server, ours, events)


def _frames() -> Json:
    plain = [structs.asdict(one) for one in FRAMES]
    for one in plain:
        one["payload"] = None if one["payload"] is None else one["payload"].hex()
    return {"frames": plain, "ours": [encode(one).hex() for one in FRAMES]}


async def _guide(server: LarkServer, events: list[Json]) -> None:
    """What Anna does while the library is there."""
    await wait_until(lambda: server.pings)
    called = {"text": f"{CALLED} hello"}
    thread = {"root_id": "om_root", "parent_id": "om_root", "thread_id": "omt_1"}
    events.append(await server.write(ANNA, ROOM, called, mentions=MENTIONS))
    events.append(await server.write(ANNA, ROOM, called, mentions=MENTIONS, **thread))
    events.append(await server.write(ANNA, DM, {"text": "act"}))
    await wait_until(lambda: server.reactions)
    await server.press(ANNA, _card(server), "Yes")
    events.append(await server.write(ANNA, DM, {"text": "leave"}))
    await wait_until(lambda: not server.pending)


def _card(server: LarkServer) -> Json:
    [card] = [one for one in server.messages if one["msg_type"] == "interactive"]
    return {"chat": DM, **card}


async def _act(folder: Path) -> tuple[LarkServer, Json]:
    """The channel does what the library is asked to do."""
    http = HttpClient()
    async with lark_server.running() as server:
        channel = channel_at(server, http, folder)
        async with listening(channel) as listener:
            await server.write(ANNA, DM, {"text": "act"})
            [heard] = await listener.first()
            await channel.send(answer(heard, CONTENT))
            path = folder / "report.pdf"
            path.write_bytes(FILE)
            file = Attachment(str(path), "application/pdf", "report.pdf", len(FILE))
            await channel.send(structs.replace(answer(heard, "", 2), files=(file,)))
            await channel.mark(heard, Mark.SEEN)
            asking = asyncio.ensure_future(channel.ask(heard.address, QUESTION))
            await wait_until(lambda: any(m["msg_type"] == "interactive" for m in server.messages))
            await server.press(ANNA, _card(server), "Yes")
            await asking
    await http.aclose()
    return server, _card(server)


async def test_every_frame_is_what_the_vendors_class_writes(lived: Lived) -> None:
    assert lived.told["frames"] == [encode(one).hex() for one in FRAMES]


async def test_the_vendors_class_reads_every_frame(lived: Lived) -> None:
    told = [
        [
            *(one.sequence, one.log, one.service, one.method),
            [list(header) for header in one.headers],
            (one.payload or b"").hex(),
        ]
        for one in FRAMES
    ]
    assert lived.told["read"] == told


async def test_the_library_reads_what_anna_wrote_though_it_came_in_parts(lived: Lived) -> None:
    told = []
    for event in lived.events:
        one = event["event"]["message"]
        mentions = [[m["key"], m["id"]["open_id"], m["name"]] for m in one.get("mentions", [])]
        names = ("message_id", "chat_id", "chat_type", "message_type", "thread_id", "root_id")
        known = [one.get(name) for name in names]
        told.append([*known, ANNA, "user", json.loads(one["content"]), mentions])
    assert lived.told["messages"] == told
    assert lived.told["messages"][0][-1][0][1] == BOT


async def test_the_library_pings_as_it_is_told(lived: Lived) -> None:
    assert lived.told["ping_every_s"] == lived.theirs.ping_every_s


async def test_the_library_acknowledges_as_we_do(lived: Lived) -> None:
    """The same headers in the same order, each event once."""
    theirs, ours = lived.theirs.acknowledgements[-1], lived.ours.acknowledgements[-1]
    assert [name for name, _ in theirs.headers] == [name for name, _ in ours.headers]
    assert (theirs.service, theirs.method) == (ours.service, ours.method)
    assert len(lived.theirs.acknowledgements) == len(lived.events) + 1


async def test_the_library_sends_what_the_channel_sends(lived: Lived) -> None:
    def said(server: LarkServer) -> list[tuple[str, list[str]]]:
        kinds = sorted(server.messages, key=lambda one: str(one["msg_type"]))
        return [(one["msg_type"], sorted(json.loads(one["content"]))) for one in kinds]

    assert said(lived.theirs) == said(lived.ours)
    assert [*lived.theirs.files.values()] == [*lived.ours.files.values()] == [FILE]
    assert bytes.fromhex(lived.told["file"]) == FILE
    signs = [one["emoji_type"] for one in lived.theirs.reactions.values()]
    assert signs == [one["emoji_type"] for one in lived.ours.reactions.values()]


async def test_the_library_hears_a_button_as_the_channel_does(lived: Lived) -> None:
    value = {"question": QUESTION.question_id, "answer": "yes"}
    card = _card(lived.theirs)["message_id"]
    assert lived.told["pressed"] == [[ANNA, DM, card, value]]
