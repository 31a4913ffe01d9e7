"""What only Matrix has, on a real homeserver."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from agent.channels.base import Answer, Question
from agent.channels.matrix.client import MatrixApi, MatrixFixedToken
from agent.channels.matrix.encrypted_events import CANNOT_READ
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused
from agent.messages import Address, Outbound
from agent.net.http import HttpClient
from tests.contracts.listener import answer, listening, stand
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
        # But for a stop: whoever writes it over what they have just said means it
        stop = {"msgtype": "m.text", "body": "/estop"}
        await platform.send(platform.chat, edit | {"body": "* /estop", "m.new_content": stop})
        assert (await listener.first(3))[2].text == "/estop"


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


async def test_what_nobody_asked_for_follows_an_upgraded_room(platform: MatrixPlatform) -> None:
    """Such as a reminder that was made before: nobody reads the old room any more."""
    told: dict[str, object] = {"preset": "public_chat", "room_version": "10"}
    old = platform.anna.make_room(platform.agent.id, platform.bert.id, **told)
    async with listening(platform.restarted()) as listener:
        await until_joined(platform.anna, old, platform.agent.id)
        await platform.send(old, {"msgtype": "m.text", "body": f"{platform.agent.id}: hello"})
        [heard] = await listener.first()
        new = await _upgrade(platform.anna, old)
        await until_joined(platform.anna, new, platform.agent.id)
        newest = await _upgrade(platform.anna, new)
        await until_joined(platform.anna, newest, platform.agent.id)
        await wait_until(lambda: len(platform.moved) == 2)
        assert platform.moved == [("matrix", old, new), ("matrix", new, newest)]
    channel = platform.restarted()
    reminder = Outbound(1, "matrix", old, "Water the basil.", "", thread="$of-the-old-room")
    await channel.send(reminder)
    # Neither does the server take an answer there, whose turn went on meanwhile
    await channel.send(answer(heard, "It is warm.", 2))
    await wait_until(lambda: len(platform.said(newest)) == 2)
    assert platform.said(newest) == ["Water the basil.", "It is warm."]
    assert platform.said(old) == platform.said(new) == []
    await channel.aclose()


async def test_a_question_follows_an_upgraded_room(platform: MatrixPlatform) -> None:
    old = platform.anna.make_room(platform.agent.id, preset="trusted_private_chat", is_direct=True)
    question = Question("board_gpio_write", '{"pin":"led"}', "it moves something")
    async with listening(channel := platform.restarted()):
        await until_joined(platform.anna, old, platform.agent.id)
        new = await _upgrade(platform.anna, old)
        await asyncio.to_thread(
            platform.anna.call, "POST", f"/rooms/{new}/invite", {"user_id": platform.agent.id}
        )
        await until_joined(platform.anna, new, platform.agent.id)
        asking = asyncio.ensure_future(
            channel.ask(Address("matrix", old, platform.anna.id), question)
        )
        await wait_until(lambda: platform.said(new))
        await platform.send(new, {"msgtype": "m.text", "body": f"yes {question.question_id}"})
        assert await asking is Answer.YES


@pytest.mark.parametrize("lacks", ["predecessor", "member", "encryption"])
async def test_a_room_that_is_not_the_other_one_gets_nothing_of_it(
    lacks: str, platform: MatrixPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    sealed = [{"type": "m.room.encryption", "content": {"algorithm": "m.megolm.v1.aes-sha2"}}]
    state = sealed if lacks == "encryption" else []
    old = platform.anna.make_room(platform.agent.id, is_direct=True, initial_state=state)
    before = {"room_id": old, "event_id": "$x"}
    made: dict[str, object] = {} if lacks == "predecessor" else {"predecessor": before}
    others = () if lacks == "member" else (platform.agent.id,)
    new = platform.anna.make_room(*others, is_direct=True, creation_content=made)
    async with listening(channel := platform.restarted()):
        await until_joined(platform.anna, old, platform.agent.id)
        if others:
            await until_joined(platform.anna, new, platform.agent.id)
        gone = {"body": "moved", "replacement_room": new}
        path = f"/rooms/{old}/state/m.room.tombstone"
        await asyncio.to_thread(platform.anna.call, "PUT", path, gone)
        reminder = Outbound(1, "matrix", old, "Water the basil.", "")
        await channel.send(reminder)
        await wait_until(lambda: "m.room.encrypted" in _kinds(platform, old) or platform.said(old))
    assert platform.said(new) == []
    assert platform.moved == []
    assert ("encrypted" in caplog.text) == (lacks == "encryption")


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


def _kinds(platform: MatrixPlatform, room: str) -> set[str]:
    return {one["type"] for one in platform.anna.events(room) if one["sender"] == platform.agent.id}


def _invitations(platform: MatrixPlatform, room: str) -> list[str]:
    path = f"/rooms/{room}/state/m.room.member/{platform.agent.id}"
    return [platform.bert.call("GET", path)["membership"]]
