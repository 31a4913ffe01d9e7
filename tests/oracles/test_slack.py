"""What slack-sdk does in our pretended Slack and reads there, beside what the channel does.

Its authors never saw our fake: where it lives in it as it does at home, the fake speaks as the
platform does, and what the channel says is held against what the library says.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agent.channels.base import Mark, Question
from agent.channels.slack.approvals import row, sections
from agent.channels.slack.markup import shown
from agent.messages import Attachment
from agent.net.http import HttpClient
from tests.contracts.listener import answer, listening
from tests.fakes import slack_server
from tests.fakes.slack_platform import channel_at
from tests.fakes.slack_server import APP_TOKEN, BOT_TOKEN, SlackServer
from tests.fakes.slack_world import ANNA, DM, ME, Json
from tests.oracles import clients
from tests.waits import wait_until

FILE = b"%PDF-1.7 of a report"
CONTENT = "It is **warm** & dry."
QUESTION = Question("board_gpio_write", '{"pin":"led"}', "it moves it", always="the lamp")
BLOCKS = [*sections(QUESTION), row(QUESTION)]


@dataclass
class Lived:
    """The same done twice: by the library, and by the channel."""

    told: dict[str, Any]
    theirs: SlackServer
    ours: SlackServer


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


async def _watch() -> tuple[dict[str, Any], SlackServer]:
    async with slack_server.running() as server:
        talk = {"url": server.url, "bot": BOT_TOKEN, "app": APP_TOKEN, "file": FILE.hex()}
        talk |= {"draft": "It", "text": shown(CONTENT), "blocks": BLOCKS}
        asking = asyncio.ensure_future(clients.told_by("slack_app", talk))
        try:
            await _until(asking, lambda: server.world.lines)
            server.world.post(DM, ANNA, "act")
            await _until(asking, lambda: any("blocks" in one for one in server.world.mine()))
            [asked] = [one for one in server.world.mine() if "blocks" in one]
            server.world.press(asked, "Always")
            await _until(asking, lambda: not server.world.waiting)
            await server.disconnect("refresh_requested")
            await _until(asking, lambda: server.begun == 2 and server.world.lines)
            server.world.post(DM, ANNA, "leave")
            return await asking, server
        finally:
            asking.cancel()


async def _until(asking: "asyncio.Future[Any]", condition: Any) -> None:
    """A library in a process of its own takes longer than `until` allows."""
    await wait_until(lambda: asking.done() or condition())
    if asking.done():
        asking.result()


async def _act(folder: Path) -> SlackServer:
    http = HttpClient()
    async with slack_server.running() as server:
        channel = channel_at(server, http, folder)
        async with listening(channel) as listener:
            server.world.post(DM, ANNA, "act")
            [heard] = await listener.first()
            await channel.draft(heard, "It")
            await wait_until(server.world.mine)
            await channel.mark(heard, Mark.SEEN)
            path = folder / "report.pdf"
            path.write_bytes(FILE)
            file = Attachment(str(path), "application/pdf", "report.pdf", len(FILE))
            await channel.send(replace(answer(heard, CONTENT), files=(file,)))
    await http.aclose()
    return server


def _of(server: SlackServer, method: str, *names: str) -> list[Any]:
    return [body.get(name) for body in server.called(method)[:1] for name in names]


async def test_the_library_reads_what_people_say_and_press(lived: Lived) -> None:
    assert lived.told["me"] == ME
    assert lived.told["texts"] == [["act", ANNA, DM], ["leave", ANNA, DM]]
    assert lived.told["pressed"] == [[f"always:{QUESTION.question_id}", ANNA, DM]]


async def test_everything_is_acknowledged_as_the_library_does_it(lived: Lived) -> None:
    assert not lived.theirs.world.waiting
    assert not lived.ours.world.waiting


async def test_the_library_follows_to_another_connection(lived: Lived) -> None:
    assert lived.theirs.begun == 2


async def test_the_library_knows_the_refusals(lived: Lived) -> None:
    assert lived.told["errors"] == ["already_reacted", "message_not_found", "channel_not_found"]


async def test_our_questions_are_blocks_as_the_library_builds_them(lived: Lived) -> None:
    assert lived.told["blocks"] == BLOCKS


@pytest.mark.parametrize(
    ("method", "names"),
    [
        ("chat.postMessage", ("channel", "text")),
        ("chat.update", ("channel", "text")),
        ("reactions.add", ("channel", "name")),
        ("files.getUploadURLExternal", ("filename", "length")),
        ("files.completeUploadExternal", ("channel_id",)),
    ],
)
async def test_we_say_what_the_library_says(
    method: str, names: tuple[str, ...], lived: Lived
) -> None:
    theirs = _of(lived.theirs, method, *names)
    assert theirs == _of(lived.ours, method, *names)
    assert theirs


async def test_a_file_arrives_as_the_library_sends_it(lived: Lived) -> None:
    assert [_files(lived.theirs), _files(lived.ours)] == [[FILE], [FILE]]


def _files(server: SlackServer) -> list[bytes]:
    shared: list[Json] = [file for one in server.world.shared for file in one["files"]]
    return [server.world.files[file["id"]] for file in shared]
