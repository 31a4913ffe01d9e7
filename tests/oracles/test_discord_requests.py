"""Every request of the channel, held against Discord's public description of its API."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agent.channels.base import Answer, Mark, Question
from agent.messages import Attachment
from agent.net.http import HttpClient
from tests.contracts.listener import answer, listening
from tests.fakes import discord_description, discord_server
from tests.fakes.discord_platform import DiscordPlatform
from tests.fakes.discord_world import ANNA, BEN, DM, GUILD
from tests.waits import wait_until

QUESTION = Question("board_gpio_write", '{"pin":"led"}', "it moves something", always="every pin")
# The methods and addresses without numbers that a life of the channel takes
NEEDED = {
    "GET /gateway/bot",
    "PUT /applications/:id/commands",
    "POST /channels/:id/messages",
    "PATCH /channels/:id/messages/:id",
    "POST /channels/:id/typing",
    "PUT /channels/:id/messages/:id/reactions/:sign/@me",
    "DELETE /channels/:id/messages/:id/reactions/:sign/@me",
    "POST /interactions/:id/:token/callback",
}


async def _live(folder: Path) -> list[tuple[str, str, object]]:
    """All that the channel does."""
    http = HttpClient()
    report = folder / "report.pdf"
    report.write_bytes(b"%PDF-1.7 of a report")
    file = Attachment(str(report), "application/pdf", "report.pdf", 20)
    async with discord_server.running() as server:
        platform = DiscordPlatform(server, http, folder)
        channel = platform.channel
        async with listening(channel) as listener:
            await platform.write("hello", is_group=True)
            [heard] = await listener.first()
            await channel.typing(heard)
            await channel.mark(heard, Mark.SEEN)
            await channel.draft(heard, "It")
            await wait_until(lambda: platform.shown(heard))
            await channel.send(answer(heard, "It is **warm**."))
            await channel.mark(heard, Mark.DONE)
            long = " ".join(f"word{number} 👩‍🚀" for number in range(400))
            for part, text in enumerate(channel.parts(long)):
                await channel.send(replace(answer(heard, text, 2), part=part))
            await channel.send(replace(answer(heard, "", 3), files=(file,)))
            asking = asyncio.ensure_future(channel.ask(heard.address, QUESTION))
            await wait_until(platform.asked)
            server.world.press(platform.asked()[-1], "Always", BEN)
            await platform.answer_question(QUESTION, Answer.ALWAYS)
            assert await asking is Answer.ALWAYS
            server.world.choose("help")
            await wait_until(lambda: len(listener.heard) > 1)
            await wait_until(lambda: len(server.called("POST", "/callback")) == 3)
        await http.aclose()
        return server.calls


def _route(method: str, path: str) -> str:
    *parts, last = ["", *path.strip("/").split("/")]
    kept = [":id" if part.isdigit() else part for part in [*parts, last]]
    if "interactions" in kept:
        kept[3] = ":token"
    if "reactions" in kept:
        kept[6] = ":sign"
    return f"{method} {'/'.join(kept)}"


async def test_every_request_is_as_discord_describes_it(tmp_path: Path) -> None:
    if absence := discord_description.absence():
        pytest.skip(absence)
    calls = await _live(tmp_path)
    assert {_route(method, path) for method, path, _ in calls} >= NEEDED
    troubles = await asyncio.to_thread(discord_description.troubles, calls)
    assert [*zip(calls, troubles, strict=True)] == [(call, []) for call in calls]


async def test_what_is_wrong_is_found() -> None:
    if absence := discord_description.absence():
        pytest.skip(absence)
    messages, callback = f"/channels/{DM}/messages", "/interactions/1/t/callback"
    wrong: dict[str, tuple[str, str, Any]] = {
        "there is no POST": ("POST", f"/channels/{DM}/mesages", {"content": "hi"}),
        "Request.content": ("POST", messages, {"content": 5}),
        "contents is unknown": ("POST", messages, {"contents": "hi"}),
        "Request.message_reference": ("POST", messages, {"message_reference": 5}),
        "nonce is unknown": ("PATCH", f"{messages}/1", {"nonce": "1"}),
        "nobody says": ("PUT", f"/guilds/{GUILD}/bans/{ANNA['id']}", {"delete": 1}),
        "descripton": ("PUT", "/applications/1/commands", [{"name": "a", "descripton": "b"}]),
        "Request.data": ("POST", callback, {"type": 4, "data": {"content": 5}}),
    }
    found = await asyncio.to_thread(discord_description.troubles, [*wrong.values()])
    missed = [
        (clue, told) for clue, told in zip(wrong, found, strict=True) if clue not in " ".join(told)
    ]
    assert missed == []
