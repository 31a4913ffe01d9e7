"""What discord.py does at our pretended Discord and reads there, beside what the channel does.

Its authors never saw our fake: where it lives in it as it does at home, the fake speaks as the
platform does, and what the channel says is held against what the library says.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from agent.channels.base import Answer, Mark, Question
from agent.channels.discord.events import DiscordMessage, read
from agent.channels.opcodes.gateway import GatewayPayload
from agent.messages import Attachment, Inbound, Outbound
from agent.net.http import HttpClient
from tests.contracts.listener import answer, listening
from tests.fakes import discord_server
from tests.fakes.discord_platform import CALLED, COMMANDS, channel_at
from tests.fakes.discord_server import TOKEN, DiscordServer, Fault
from tests.fakes.discord_world import ANNA, APPLICATION, BOT, DM, GUILD, ROOM, THREAD, Json
from tests.oracles import clients
from tests.waits import wait_until

FILE = b"%PDF-1.7 of a report"
QUESTION = Question("board_gpio_write", "{}", "it moves something")
CONTENT = "It is **warm**."
IDENTIFY, RESUME = 2, 6


@dataclass
class Lived:
    """The same done twice: by the library, and by the channel."""

    told: dict[str, Any]
    theirs: DiscordServer
    ours: DiscordServer
    posted: list[Json]


_lives: list[Lived] = []


@pytest.fixture
async def lived(tmp_path_factory: Any) -> Lived:
    """Made once: the library takes seconds to load."""
    clients.needed()
    if not _lives:
        _lives.append(await _live(tmp_path_factory.mktemp("life")))
    return _lives[0]


async def _live(folder: Path) -> Lived:
    ours = await _act(folder)
    async with discord_server.running() as server:
        talk = {"url": server.url, "gateway": server.rest.gateway_url, "token": TOKEN}
        talk |= {"content": CONTENT, "file": FILE.hex(), "buttons": _buttons()}
        posted: list[Json] = []
        guide = asyncio.ensure_future(_guide(server, posted))
        try:
            told = await clients.told_by("discord_client", {**talk, "commands": COMMANDS})
            await guide
        finally:
            guide.cancel()
        return Lived(told, server, ours, posted)


def _buttons() -> list[list[str]]:
    return [["Yes", f"yes:{QUESTION.question_id}"], ["No", f"no:{QUESTION.question_id}"]]


async def _guide(server: DiscordServer, posted: list[Json]) -> None:
    """What Anna does while the library is there."""
    world = server.world
    await wait_until(lambda: world.commands)
    posted.append(world.post(ROOM, ANNA, f"{CALLED} hello"))
    posted.append(world.post(THREAD, ANNA, f"{CALLED} in a thread"))
    mine = world.post(ROOM, BOT, "before")
    posted.append(world.answer(mine, ANNA, f"{CALLED} and then?"))
    server.faults.append(Fault("POST", r"/channels/\d+/typing", retry_after_s=0.1))
    posted.append(world.post(DM, ANNA, "act", attachments=[world.keep(FILE)]))
    await wait_until(lambda: _asked(world.messages))
    world.press(_asked(world.messages)[0], "Yes")
    world.choose("help")
    await wait_until(lambda: all(told for _, told in world.interactions.values()))
    await wait_until(lambda: server.called("PATCH", "/messages/[0-9]+$")[2:])
    server.cut()
    posted.append(world.post(DM, ANNA, "while it was away"))
    await wait_until(lambda: server.heard(RESUME))
    posted.append(world.post(DM, ANNA, "leave"))


def _asked(messages: dict[str, Json]) -> list[Json]:
    return [one for one in messages.values() if one["components"]]


async def _act(folder: Path) -> DiscordServer:
    """The channel does what the library is asked to do."""
    http = HttpClient()
    async with discord_server.running() as server:
        channel = channel_at(server, http, folder)
        async with listening(channel) as listener:
            await wait_until(lambda: server.world.commands)
            server.world.post(DM, ANNA, "act")
            [heard] = await listener.first()
            await channel.draft(heard, CONTENT)
            await wait_until(lambda: server.called("POST", "/messages$"))
            await channel.send(answer(heard, CONTENT))
            await channel.send(answer(heard, CONTENT, 2))
            await channel.mark(heard, Mark.SEEN)
            await channel.mark(heard, Mark.DONE)
            await channel.typing(heard)
            path = folder / "report.pdf"
            path.write_bytes(FILE)
            file = Attachment(str(path), "application/pdf", "report.pdf", len(FILE))
            await channel.send(_with_file(heard, file))
            asking = asyncio.ensure_future(channel.ask(heard.address, QUESTION))
            await wait_until(lambda: _asked(server.world.messages))
            server.world.press(_asked(server.world.messages)[0], "Yes")
            assert await asking is Answer.YES
            server.world.choose("help")
            await wait_until(lambda: all(told for _, told in server.world.interactions.values()))
            server.cut()
            await wait_until(lambda: server.heard(RESUME))
    await http.aclose()
    return server


def _with_file(heard: Inbound, file: Attachment) -> Outbound:
    return replace(answer(heard, "", 3), files=(file,))


def test_the_library_reads_our_messages_as_they_are_meant(lived: Lived) -> None:
    read_there = {one[0]: one[1:] for one in lived.told["messages"]}
    assert list(read_there) == [one["id"] for one in lived.posted]
    for posted in lived.posted:
        content, author, place, parent, in_guild, calls, files, answered, sent_s = read_there[
            posted["id"]
        ]
        ours = _as_we_read(posted, in_guild=in_guild)
        assert (content, author, place) == (ours.content, ours.author.id, ours.channel_id)
        assert parent == (ROOM if place == THREAD else None)
        assert calls == (BOT["id"] in [one.id for one in ours.mentions])
        assert files == [one.filename for one in ours.attachments]
        assert answered == (posted.get("message_reference") or {}).get("message_id")
        assert ours.sent_at_s == pytest.approx(sent_s, abs=0.002)


def _as_we_read(posted: Json, *, in_guild: bool) -> DiscordMessage:
    told = {**posted, **({"guild_id": GUILD} if in_guild else {})}
    payload = {"op": 0, "d": told, "s": 1, "t": "MESSAGE_CREATE"}
    return read(
        msgspec.json.decode(msgspec.json.encode(payload), type=GatewayPayload).d, DiscordMessage
    )


def test_the_library_knows_where_it_is(lived: Lived) -> None:
    assert lived.told["me"] == [BOT["id"], APPLICATION, True]
    assert lived.told["guilds"] == [[GUILD, [ROOM], [THREAD]]]
    assert bytes.fromhex(lived.told["file"]) == FILE


def test_the_library_takes_its_session_up_again_and_misses_nothing(lived: Lived) -> None:
    assert lived.told["resumed"] == 1
    assert [one[1] for one in lived.told["messages"]][-2:] == ["while it was away", "leave"]
    theirs, ours = lived.theirs.heard(RESUME)[0]["d"], lived.ours.heard(RESUME)[0]["d"]
    assert ours.keys() == theirs.keys()


def test_the_library_understands_every_refusal(lived: Lived) -> None:
    errors = lived.told["errors"]
    assert errors["long"] == [400, 50035, "HTTPException"]
    assert errors["empty"] == [400, 50006, "HTTPException"]
    assert errors["unknown"] == [404, 10008, "NotFound"]
    assert errors["limited"] == []


def test_the_library_hears_buttons_and_commands(lived: Lived) -> None:
    assert lived.told["pressed"] == [
        [f"yes:{QUESTION.question_id}", ANNA["id"], DM],
        ["help", ANNA["id"], DM],
    ]


def test_we_introduce_ourselves_as_the_library_does(lived: Lived) -> None:
    theirs, ours = lived.theirs.heard(IDENTIFY)[0]["d"], lived.ours.heard(IDENTIFY)[0]["d"]
    assert ours["intents"] == theirs["intents"]
    assert ours["properties"].keys() == theirs["properties"].keys()
    assert ours.keys() <= theirs.keys()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", r"/channels/\d+/messages"),
        ("PATCH", r"/channels/\d+/messages/\d+"),
        ("PUT", r"/channels/\d+/messages/\d+/reactions/.*/@me"),
        ("DELETE", r"/channels/\d+/messages/\d+/reactions/.*/@me"),
        ("POST", r"/channels/\d+/typing"),
        ("PUT", r"/applications/\d+/commands"),
        ("POST", r"/interactions/\d+/[^/]+/callback"),
    ],
)
def test_a_call_of_ours_says_what_the_librarys_says(method: str, path: str, lived: Lived) -> None:
    theirs, ours = (one.called(method, f"^{path}$") for one in (lived.theirs, lived.ours))
    assert theirs
    assert ours
    known = {name: shape for body in theirs for name, shape in _shapes(body)}
    for name, shape in (pair for body in ours for pair in _shapes(body)):
        assert known.get(name) == shape, (name, shape, known)


def test_reactions_have_the_same_addresses(lived: Lived) -> None:
    signs = [
        {path.split("/reactions/")[1] for _, path, _ in one.calls if "/reactions/" in path}
        for one in (lived.theirs, lived.ours)
    ]
    assert signs[0] == signs[1]


def _shapes(told: Any, where: str = "") -> list[tuple[str, str]]:
    """Each field by its path, with its kind; what is in lists is taken together."""
    if isinstance(told, dict):
        return [pair for name, one in told.items() for pair in _shapes(one, f"{where}.{name}")]
    if isinstance(told, list) and told:
        return [pair for one in told for pair in _shapes(one, f"{where}[]")]
    # The platform takes its numbers in words and as such
    return [(where, "id" if where.endswith("message_id") else type(told).__name__)]
