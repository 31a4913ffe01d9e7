"""What mattermostautodriver does on our pretended Mattermost, beside what the channel does.

It is made from the server's own API description, and never saw our fake: where it lives in it as it
does at home, the fake speaks as the server does, and what the channel says is held against it.
"""

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agent.channels.base import Mark
from agent.messages import Attachment
from agent.net.http import HttpClient
from tests.contracts.listener import answer, listening
from tests.fakes import mattermost_server
from tests.fakes.mattermost_platform import channel_at
from tests.fakes.mattermost_server import ANNA, DM, ME, ROOM, TOKEN, Fault, MattermostServer
from tests.oracles import clients
from tests.waits import wait_until

FILE = b"%PDF-1.7 of a report"
CONTENT = "It is **warm** & dry."


@dataclass
class Lived:
    """The same done twice: by the library, and by the channel."""

    told: dict[str, Any]
    theirs: MattermostServer
    ours: MattermostServer


_lives: list[Lived] = []


@pytest.fixture
async def lived(tmp_path_factory: Any) -> Lived:
    """Made once: the library takes seconds to load."""
    clients.needed()
    if not _lives:
        ours = await _act(tmp_path_factory.mktemp("life"))
        told, theirs = await _watch()
        _lives.append(Lived(told, theirs, ours))
    return _lives[0]


async def _watch() -> tuple[dict[str, Any], MattermostServer]:
    async with mattermost_server.running() as server:
        talk = {"url": server.url, "token": TOKEN, "draft": "It", "text": CONTENT}
        asking = asyncio.ensure_future(
            clients.told_by("mattermost_bot", talk | {"file": FILE.hex()})
        )
        try:
            await _until(asking, lambda: server.entered)
            server.post(DM, ANNA, "act")
            await _until(asking, lambda: server.refusals == 4)
            server.fault = Fault(429, 7)
            server.post(DM, ANNA, "too often")
            await _until(asking, lambda: server.fault is None)
            server.post(ROOM, ANNA, "leave")
            return await asking, server
        finally:
            asking.cancel()
            await asyncio.wait([asking])


async def _until(asking: "asyncio.Future[Any]", condition: Any) -> None:
    """A library in a process of its own takes longer than `until` allows."""
    await wait_until(lambda: asking.done() or condition())
    if asking.done():
        asking.result()


async def _act(folder: Path) -> MattermostServer:
    http = HttpClient()
    async with mattermost_server.running() as server:
        channel = channel_at(server, http, folder)
        async with listening(channel) as listener:
            # Before its first start, and to catch up: what comes now is told by the socket alone
            await wait_until(lambda: server.calls.count(("GET", "/users/me/channels")) == 2)
            server.post(DM, ANNA, "act")
            [heard] = await listener.first()
            await channel.typing(heard)
            await channel.mark(heard, Mark.SEEN)
            await channel.draft(heard, "It")
            await wait_until(lambda: any(one["user_id"] == ME for one in server.posts.values()))
            path = folder / "report.pdf"
            path.write_bytes(FILE)
            file = Attachment(str(path), "application/pdf", "report.pdf", len(FILE))
            await channel.send(replace(answer(heard, CONTENT), files=(file,)))
            await channel.mark(heard, Mark.DONE)
    await http.aclose()
    return server


def _said(server: MattermostServer) -> list[tuple[str, str, str, int]]:
    mine = [one for one in server.posts.values() if one["user_id"] == ME]
    return [
        (one["channel_id"], one["root_id"], one["message"], len(one["file_ids"])) for one in mine
    ]


def _calls(server: MattermostServer) -> set[tuple[str, str]]:
    """Without the ids in them."""
    return {(method, re.sub(r"\w{26}", "ID", path)) for method, path in server.calls}


async def test_the_library_is_let_in_and_reads_what_people_say(lived: Lived) -> None:
    assert lived.told["me"] == [ME, "barnacle"]
    assert lived.told["events"][:2] == ["hello", "OK"]
    private = [[text, ANNA, "D", "@anna"] for text in ("act", "too often")]
    assert lived.told["texts"] == [*private, ["leave", ANNA, "O", "@anna"]]


async def test_the_library_finds_what_came_since(lived: Lived) -> None:
    assert lived.told["since"] == ["", CONTENT, "act"]
    assert lived.told["rooms"] == [[DM, "D", True], [ROOM, "O", False]]


async def test_the_library_knows_the_refusals(lived: Lived) -> None:
    refused = ["ResourceNotFound", "NotEnoughPermissions"]
    refused += ["InvalidOrMissingParameters"] * 2 + ["TooManyRequests"]
    assert lived.told["errors"] == refused


async def test_we_say_what_the_library_says(lived: Lived) -> None:
    assert _said(lived.ours) == _said(lived.theirs) == [(DM, "", CONTENT, 0), (DM, "", "", 1)]


async def test_we_call_what_the_library_calls(lived: Lived) -> None:
    # What the library need not do: who listens for the first time asks nobody for older posts
    more = {("GET", "/files/ID"), ("GET", "/channels/ID/posts")}
    assert _calls(lived.ours) - {("POST", "/reactions")} <= _calls(lived.theirs)
    assert _calls(lived.theirs) - _calls(lived.ours) == more


async def test_a_file_arrives_as_the_library_sends_it(lived: Lived) -> None:
    kept = [[content for _, content in one.files.values()] for one in (lived.ours, lived.theirs)]
    assert kept == [[FILE], [FILE]]
    assert lived.told["file"] == FILE.hex()


async def test_typing_and_signs_are_the_librarys(lived: Lived) -> None:
    assert lived.ours.typings == lived.theirs.typings == [{"channel_id": DM, "parent_id": ""}]
    assert {name for _, name in lived.ours.reactions} == {"white_check_mark"}
    assert not lived.theirs.reactions
