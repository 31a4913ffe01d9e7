"""What only Matrix has, on a real homeserver."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from agent.channels.matrix.client import MatrixApi, MatrixFixedToken
from agent.channels.matrix.encrypted_events import CANNOT_READ
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused
from agent.messages import Outbound
from agent.net.http import HttpClient
from tests.contracts.channel import answer, listening, stand
from tests.fakes import synapse
from tests.fakes.matrix_platform import MatrixPlatform
from tests.fakes.relay import Relay
from tests.fakes.synapse import MatrixUser, until_joined
from tests.waits import wait_until


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[MatrixPlatform]:
    server = synapse.shared()
    relay = Relay(server.port)
    await relay.start()
    platform = MatrixPlatform(server, relay, tmp_path)
    yield platform
    await platform.http.aclose()
    await relay.stop()


async def test_an_encrypted_room_is_told_once_that_it_cannot_be_read(
    platform: MatrixPlatform,
) -> None:
    content = {"algorithm": "m.megolm.v1.aes-sha2"}
    state = [{"type": "m.room.encryption", "content": content}]
    room = platform.anna.make_room(platform.agent.id, is_direct=True, initial_state=state)
    secret = {**content, "ciphertext": "x", "session_id": "x"}
    platform.has_extra = False
    channel = platform.restarted()
    async with listening(channel) as listener:
        await until_joined(platform.anna, room, platform.agent.id)
        for number in range(2):
            path = f"/rooms/{room}/send/m.room.encrypted/{number}"
            await asyncio.to_thread(platform.anna.call, "PUT", path, secret)
        await platform.write("readable")
        assert (await listener.first())[0].text == "readable"
        await wait_until(lambda: platform.said(room))
        alarm = Outbound(1, "matrix", room, "It is on fire at 12 Hill Street", in_reply_to="")
        with pytest.raises(MessageRefused, match="encrypted"):
            await channel.send(alarm)
        assert platform.said(room) == [CANNOT_READ]


async def test_nothing_is_shown_before_the_server_has_said_who_we_are(
    platform: MatrixPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
    with caplog.at_level(logging.INFO):
        await platform.restarted().typing(heard)
    assert "M_INVALID_PARAM" not in caplog.text
    assert not platform.typings()


async def test_everything_that_was_said_while_it_was_away_is_heard(
    platform: MatrixPlatform,
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("before")
        await listener.first()
    for number in range(120):
        await platform.write(f"number {number}")
    async with listening(platform.restarted()) as listener:
        await wait_until(lambda: listener.heard and listener.heard[-1].text == "number 119")
        told = [one.text for one in listener.heard if one.text != "before"]
        assert told == [f"number {number}" for number in range(120)]


async def test_what_waits_is_heard_though_it_is_more_than_an_answer_may_be(
    platform: MatrixPlatform,
) -> None:
    """The server writes six bytes for each Cyrillic letter."""
    async with listening(platform.channel) as listener:
        await platform.write("before")
        await platform.write("before", is_group=True)
        await listener.first(2)
    for number in range(55):
        await platform.write(f"{number} {'щ' * 30_000}")
    await platform.write("55", is_group=True)
    async with listening(platform.restarted()) as listener:
        await wait_until(
            lambda: {"0", "54", "55"} <= {one.text.split()[0] for one in listener.heard}
        )
        told = [one.text.split()[0] for one in listener.heard if not one.is_group]
        assert [one for one in told if one != "before"] == [str(number) for number in range(55)]


async def test_messages_of_devices_hold_up_nothing(platform: MatrixPlatform) -> None:
    """Anybody may send them, also who shares no room with it."""
    async with listening(platform.channel) as listener:
        await platform.write("before")
        await listener.first()
    for stranger in (platform.anna, platform.bert):
        path = f"/sendToDevice/m.dummy/{stranger.id}"
        whole = {"x": "щ" * 32_000}
        for number in range(40):
            told = {"messages": {platform.agent.id: {platform.agent.device: whole}}}
            await asyncio.to_thread(stranger.call, "PUT", f"{path}-{number}", told)
    await platform.write("after")
    async with listening(platform.restarted()) as listener:
        await wait_until(lambda: "after" in [one.text for one in listener.heard])


async def test_it_begins_though_more_was_said_than_an_answer_may_be(
    platform: MatrixPlatform,
) -> None:
    platform.agent.call("POST", f"/join/{platform.chat}", {})
    for _ in range(50):
        await platform.write("щ" * 30_000)
    async with listening(platform.channel) as listener:
        await until_joined(platform.anna, platform.group, platform.agent.id)
        await platform.write("now")
        assert [one.text for one in await listener.first()] == ["now"]


async def test_a_room_of_more_members_than_can_be_listed_is_left(platform: MatrixPlatform) -> None:
    """Anybody may invite it to one, as a chat of two."""
    room = platform.bert.make_room(platform.agent.id, is_direct=True)
    platform.transport.crowded = room
    async with listening(platform.channel) as listener:
        await wait_until(lambda: _invitations(platform, room) == ["leave"])
        await platform.write("hello")
        assert [one.text for one in await listener.first()] == ["hello"]


async def test_what_was_said_before_it_ever_listened_is_left_alone(
    platform: MatrixPlatform,
) -> None:
    platform.agent.call("POST", f"/join/{platform.chat}", {})
    await platform.write("long ago")
    async with listening(platform.channel) as listener:
        await until_joined(platform.anna, platform.group, platform.agent.id)
        await platform.write("now")
        assert [one.text for one in await listener.first()] == ["now"]


async def test_an_edit_and_what_a_program_says_are_no_messages(platform: MatrixPlatform) -> None:
    async with listening(platform.channel) as listener:
        first = await platform.send(platform.chat, {"msgtype": "m.text", "body": "frist"})
        new = {"msgtype": "m.text", "body": "first"}
        about = {"rel_type": "m.replace", "event_id": first}
        edit = {"msgtype": "m.text", "body": "* first", "m.new_content": new, "m.relates_to": about}
        await platform.send(platform.chat, edit)
        await platform.send(platform.chat, {"msgtype": "m.notice", "body": "beep"})
        await platform.write("second")
        assert [one.text for one in await listener.first(2)] == ["frist", "second"]


async def test_a_room_that_everybody_left_is_left(platform: MatrixPlatform) -> None:
    async with listening(platform.channel):
        await until_joined(platform.anna, platform.chat, platform.agent.id)
        await asyncio.to_thread(platform.anna.call, "POST", f"/rooms/{platform.chat}/leave", {})
        await wait_until(
            lambda: platform.chat not in platform.agent.call("GET", "/joined_rooms")["joined_rooms"]
        )


async def test_whom_it_does_not_know_it_follows_into_no_group(platform: MatrixPlatform) -> None:
    platform.knows = lambda inbound: inbound.sender == platform.anna.id
    room = platform.bert.make_room(platform.agent.id)
    async with listening(platform.restarted()):
        await until_joined(platform.anna, platform.group, platform.agent.id)
        await wait_until(lambda: _invitations(platform, room) == ["leave"])
    assert platform.agent.id not in platform.bert.people(room)


async def test_a_room_that_is_upgraded_is_followed(
    platform: MatrixPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    room = platform.anna.make_room(platform.agent.id, platform.bert.id, preset="public_chat")
    platform.knows = lambda inbound: inbound.sender == platform.anna.id
    async with listening(platform.restarted()) as listener:
        await until_joined(platform.anna, room, platform.agent.id)
        with caplog.at_level(logging.INFO):
            new = await _upgrade(platform.anna, room)
            await until_joined(platform.anna, new, platform.agent.id)
        assert f"(room={room}, replacement={new}" in caplog.text
        await platform.send(new, {"msgtype": "m.text", "body": f"{platform.agent.id}: hello"})
        [heard] = await listener.first()
        assert (heard.text, heard.reply_target) == ("hello", new)


async def test_a_message_whose_receipt_was_lost_stands_once(platform: MatrixPlatform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        platform.transport.loses_next_answer = True
        with pytest.raises(ChannelUnavailable):
            await platform.channel.send(answer(heard, "Here."))
        await platform.channel.send(answer(heard, "Here."))
        await platform.channel.send(answer(heard, "There.", 2))
        await stand(platform, heard, "Here.", "There.")


async def test_what_somebody_answers_to_is_quoted(platform: MatrixPlatform) -> None:
    async with listening(platform.channel) as listener:
        first = await platform.send(platform.chat, {"msgtype": "m.text", "body": "17 degrees"})
        reply = {"m.in_reply_to": {"event_id": first}}
        body = f"> <{platform.anna.id}> 17 degrees\n\nis that warm?"
        told = {"msgtype": "m.text", "body": body, "m.relates_to": reply}
        await platform.send(platform.chat, told)
        [_, heard] = await listener.first(2)
        assert (heard.text, heard.quoted) == ("is that warm?", "17 degrees")


async def test_a_login_that_lapsed_is_explained() -> None:
    told = b'{"errcode": "M_UNKNOWN_TOKEN", "soft_logout": true}'
    lapsed = httpx.Response(401, stream=httpx.ByteStream(told))
    transport = httpx.MockTransport(lambda _: lapsed)
    http = HttpClient(transport)
    with pytest.raises(ChannelRefused, match="soft logout"):
        await MatrixApi("http://x", MatrixFixedToken(Secret("syt_x")), http).whoami()
    await http.aclose()


async def _upgrade(user: MatrixUser, room: str) -> str:
    path, version = f"/rooms/{room}/upgrade", {"new_version": "10"}
    told = await asyncio.to_thread(user.call, "POST", path, version)
    return str(told["replacement_room"])


def _invitations(platform: MatrixPlatform, room: str) -> list[str]:
    path = f"/rooms/{room}/state/m.room.member/{platform.agent.id}"
    return [platform.bert.call("GET", path)["membership"]]
