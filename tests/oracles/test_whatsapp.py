"""What pywa takes for true of what our pretended WhatsApp posts, beside what the channel does.

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
from agent.channels.whatsapp.client import GRAPH_VERSION
from agent.channels.whatsapp.errors import WhatsAppWindowClosed, failure
from agent.channels.whatsapp.events import challenged, is_true, verify_token
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused
from agent.messages import Attachment
from tests.contracts.listener import answer, listening
from tests.fakes import whatsapp_server
from tests.fakes.whatsapp_platform import running
from tests.fakes.whatsapp_server import (
    ANNA,
    APP_SECRET,
    NUMBER_ID,
    TOKEN,
    WhatsAppServer,
    body_of,
)
from tests.oracles import clients
from tests.waits import wait_until

FILE = b"%PDF-1.7 of a report"
CONTENT = "It is warm & dry."
QUESTION = Question("board_gpio_write", '{"pin":"led"}', "it moves it", always="the lamp")
USER_ID = "DE.134912086553027"
# What the library calls them, and what becomes of a message of ours
CODES = {
    131047: ("ReEngagementMessage", WhatsAppWindowClosed),
    131026: ("MessageUndeliverable", MessageRefused),
    130429: ("RateLimitHit", ChannelUnavailable),
    131048: ("SpamRateLimitHit", ChannelUnavailable),
    131056: ("TooManyMessages", ChannelUnavailable),
    131031: ("AccountLocked", ChannelRefused),
    131042: ("BusinessPaymentIssue", ChannelRefused),
    131053: ("MediaUploadError", MessageRefused),
}


@dataclass
class Lived:
    """The same done twice: by the library, and by the channel."""

    told: dict[str, Any]
    theirs: WhatsAppServer
    ours: WhatsAppServer
    challenged: list[tuple[int, str]]
    forged: list[int]


_lives: list[Lived] = []


@pytest.fixture
async def lived(tmp_path_factory: Any, unused_tcp_port: int) -> Lived:
    """Made once: the library takes seconds to load."""
    clients.needed()
    if not _lives:
        ours = await _act(tmp_path_factory.mktemp("life"))
        _lives.append(await _watch(ours, unused_tcp_port))
    return _lives[0]


def _talk(server: WhatsAppServer, ours: WhatsAppServer, port: int) -> dict[str, Any]:
    told = {"url": server.url, "port": port, "number": NUMBER_ID, "token": TOKEN}
    told |= {"secret": APP_SECRET, "verify": verify_token(APP_SECRET), "codes": [*CODES]}
    told |= {"version": GRAPH_VERSION.removeprefix("v"), "text": CONTENT, "file": FILE.hex()}
    [asked] = [one["interactive"] for one in ours.sent if one["type"] == "interactive"]
    replies = [one["reply"] for one in asked["action"]["buttons"]]
    told |= {"question": asked["body"]["text"]}
    return told | {"buttons": [[one["title"], one["id"]] for one in replies]}


async def _watch(ours: WhatsAppServer, port: int) -> Lived:
    async with whatsapp_server.running() as server:
        server.gateway_port = port
        server.refuses = "refuse with "
        asking = asyncio.ensure_future(clients.told_by("whatsapp_app", _talk(server, ours, port)))
        try:
            told = [await _challenge(server, asking, one) for one in (APP_SECRET, "other")]
            body = body_of({"messages": [server.message("text", text={"body": "forged"})]})
            signatures = (None, "sha256=00", server.signature(body + b" "))
            forged = [
                (await server.ask("POST", "/whatsapp", body, one)).status for one in signatures
            ]
            await server.say("act")
            await _press(server)
            await _send_file(server)
            await server.post(body_of({"contacts": [{"user_id": USER_ID}], "statuses": [_late()]}))
            await server.say("leave")
            return Lived(await asking, server, ours, told, forged)
        finally:
            asking.cancel()
            await asyncio.wait([asking])


async def _challenge(
    server: WhatsAppServer, asking: "asyncio.Future[Any]", secret: str
) -> tuple[int, str]:
    """Asked again until the program is there."""
    query = f"hub.mode=subscribe&hub.verify_token={verify_token(secret)}&hub.challenge=1158201444"

    async def answered() -> tuple[int, str] | None:
        if asking.done():
            asking.result()
        told = await server.ask("GET", f"/whatsapp?{query}")
        return (told.status, told.said) if told.status else None

    return await wait_until(answered, look_s=0.05)


async def _press(server: WhatsAppServer) -> None:
    reply = {"id": f"always:{QUESTION.question_id}", "title": "Always"}
    pressed = {"type": "button_reply", "button_reply": reply}
    context = {"from": "15550783881", "id": "wamid.ours1"}
    await server.tell(server.message("interactive", interactive=pressed, context=context))


async def _send_file(server: WhatsAppServer) -> None:
    server.media["1013859600285441"] = FILE
    file = {"id": "1013859600285441", "mime_type": "application/pdf", "filename": "d.pdf"}
    document = {**file, "caption": "look", "sha256": "-"}
    await server.tell(server.message("document", document=document))


def _late() -> dict[str, Any]:
    told = {"id": "wamid.ours1", "status": "failed", "timestamp": "1790000000"}
    error = {"code": 131047, "title": "Re-engagement message", "message": "Re-engagement message"}
    details = {"error_data": {"details": "More than 24 hours have passed"}}
    return {**told, "recipient_id": ANNA, "errors": [error | details]}


async def _act(folder: Path) -> WhatsAppServer:
    async with running(folder) as platform:
        channel, server = platform.channel, platform.server
        async with listening(channel) as listener:
            await server.say("act")
            [heard] = await listener.first()
            await channel.typing(heard)
            await channel.mark(heard, Mark.SEEN)
            path = folder / "report.pdf"
            path.write_bytes(FILE)
            file = Attachment(str(path), "application/pdf", "report.pdf", len(FILE))
            await channel.send(replace(answer(heard, CONTENT), files=(file,)))
            asking = asyncio.ensure_future(channel.ask(heard.address, QUESTION))
            await wait_until(lambda: server.sent[-1]["type"] == "interactive")
            asking.cancel()
            await asyncio.wait([asking])
            return server


async def test_the_library_takes_our_posts_for_the_platforms(lived: Lived) -> None:
    said = [["act", ANNA, "Anna", "text"], ["look", ANNA, "Anna", "document"]]
    assert lived.told["texts"] == [*said, ["leave", ANNA, "Anna", "text"]]
    assert set(lived.theirs.answers) == {200}


async def test_the_library_refuses_what_we_refuse(lived: Lived) -> None:
    assert {*lived.forged} <= {401, 403}
    assert lived.told["forged"] == 3
    body = b"{}"
    assert is_true(APP_SECRET, {"x-hub-signature-256": lived.theirs.signature(body)}, body)


async def test_the_library_is_challenged_as_we_are(lived: Lived) -> None:
    ours = []
    for secret in (APP_SECRET, "other"):
        told = (
            f"hub.mode=subscribe&hub.verify_token={verify_token(secret)}&hub.challenge=1158201444"
        )
        ours.append(challenged(told.encode(), verify_token(APP_SECRET)))
    assert [status for status, _ in lived.challenged] == [one.status for one in ours]
    assert lived.challenged[0] == (200, ours[0].text)


async def test_the_library_reads_buttons_files_and_what_did_not_arrive(lived: Lived) -> None:
    assert lived.told["pressed"] == [[f"always:{QUESTION.question_id}", "Always", ANNA]]
    assert lived.told["files"] == [FILE.hex()]
    assert lived.told["failed"] == [["failed", 131047]]


async def test_the_library_knows_the_refusals_and_we_know_what_they_mean(lived: Lived) -> None:
    assert lived.told["refused"] == [[name, code] for code, (name, _) in CODES.items()]
    for code, (_, kind) in CODES.items():
        assert type(failure(400, code, 0, 0)) is kind


@pytest.mark.parametrize("kind", ["read", "reaction", "text", "document", "interactive"])
async def test_we_say_what_the_library_says(kind: str, lived: Lived) -> None:
    theirs, ours = (
        _plain(next(one for one in server.sent if one["type"] == kind))
        for server in (lived.theirs, lived.ours)
    )
    assert ours == theirs


def _plain(told: Any) -> Any:
    """Without the ids of messages and files, and what is so anyway."""
    if not isinstance(told, dict):
        return told
    left_out = {"message_id", "preview_url"} | ({"id"} if "filename" in told else set())
    return {name: _plain(one) for name, one in told.items() if name not in left_out}


async def test_a_file_arrives_as_the_library_sends_it(lived: Lived) -> None:
    assert [[*one.uploads.values()] for one in (lived.theirs, lived.ours)] == [[FILE], [FILE]]
