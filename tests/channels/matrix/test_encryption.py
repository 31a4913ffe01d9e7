"""What every platform does, and what only encrypted rooms have: against Element's own library."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from agent.channels import catalog
from agent.channels.base import Answer, Channel, Question
from agent.channels.matrix.encrypted_events import (
    CLEAR_WORDS,
    FOREIGN_LOGIN,
    KEY_WAIT_S,
    NO_KEY,
)
from agent.channels.platform import PlatformContext
from agent.channels.settings import ChannelsSettings, MatrixSettings
from agent.config import Secret
from agent.settings import Paths
from agent.system.clock import SystemClock
from tests.contracts.channel import CHECKS
from tests.contracts.listener import answer, listening, stand
from tests.contracts.test_channel import Check
from tests.fakes import element_program, synapse
from tests.fakes.matrix_sealed_platform import SealedMatrixPlatform
from tests.fakes.relay import Relay
from tests.fakes.synapse import until_joined
from tests.waits import wait_until


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[SealedMatrixPlatform]:
    if reason := element_program.absence():
        pytest.skip(reason)
    server = synapse.shared()
    relay = Relay(server.port)
    await relay.start()
    platform = await asyncio.to_thread(SealedMatrixPlatform, server, relay, tmp_path)
    yield platform
    platform.element.close()
    await platform.http.aclose()
    await relay.stop()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_an_encrypted_room_is_a_room(check: Check, platform: SealedMatrixPlatform) -> None:
    await check(platform)


async def test_a_message_waits_for_its_key_over_a_restart(platform: SealedMatrixPlatform) -> None:
    async with listening(platform.channel):
        await until_joined(platform.anna, platform.chat, platform.agent.id)
    platform.element.keep_keys_back()
    await platform.write("early")
    async with listening(platform.restarted()) as listener:
        # A room that is not encrypted shows that the first message was seen
        await plain_word(platform, "seen")
        assert [one.text for one in await listener.first()] == ["seen"]
    platform.element.hand_keys_on()
    async with listening(platform.restarted()) as listener:
        await platform.write("late")
        # What was told as the agent ended may be told again; who keeps it knows its id
        await wait_until(lambda: {"early", "late"} <= {one.text for one in listener.heard})
        texts = [one.text for one in listener.heard if one.text != "seen"]
        assert sorted(texts) == ["early", "late"]


async def test_a_room_is_told_once_what_helps_where_a_key_never_comes(
    platform: SealedMatrixPlatform,
) -> None:
    class LaterClock(SystemClock):
        ahead_s = 0.0

        def wall_s(self) -> float:
            return super().wall_s() + self.ahead_s

    platform.clock = clock = LaterClock()
    async with listening(platform.restarted()) as listener:
        await until_joined(platform.anna, platform.chat, platform.agent.id)
        platform.element.keep_keys_back()
        await platform.write("lost")
        await plain_word(platform, "seen")
        await listener.first()
        assert platform.said(platform.chat) == []
        clock.ahead_s = KEY_WAIT_S + 1
        for number in range(2):
            await plain_word(platform, f"later {number}")
            await listener.first(number + 2)
        assert platform.said(platform.chat) == [NO_KEY]
        assert "lost" not in [one.text for one in listener.heard]


async def test_what_was_said_before_counts_no_second_time(platform: SealedMatrixPlatform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("open the door")
        await listener.first()
        [sealed] = said_by(platform, platform.anna.id)
        await as_sealed(platform.anna, platform.chat, sealed)
        await platform.write("thanks")
        assert [one.text for one in await listener.first(2)] == ["open the door", "thanks"]


async def test_another_persons_words_are_nobody_elses(platform: SealedMatrixPlatform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello", is_group=True)
        await listener.first()
        # Bert has them from the server, as everybody in the room
        [sealed] = said_by(platform, platform.anna.id, platform.group)
        await as_sealed(platform.bert, platform.group, sealed)
        await platform.write("goodbye", is_group=True)
        heard = await listener.first(2)
        assert [(one.text, one.sender) for one in heard] == [
            ("hello", platform.anna.id),
            ("goodbye", platform.anna.id),
        ]


async def test_clear_words_in_an_encrypted_room_are_nobodys_order(
    platform: SealedMatrixPlatform,
) -> None:
    question = Question("open_door", "{}", "a letter asks for it", question_id="ab3d")
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        asking = asyncio.ensure_future(platform.channel.ask(heard.address, question))
        await wait_until(lambda: any("ab3d" in one for one in platform.said(platform.chat)))
        # The server can say this in Anna's name
        for text in ("open the door", "yes ab3d", "/estop clear"):
            content = {"msgtype": "m.text", "body": text}
            await asyncio.to_thread(platform.anna.send, platform.chat, content)
        await platform.write("thanks")
        assert [one.text for one in await listener.first(2)] == ["hello", "thanks"]
        assert not asking.done()
        assert platform.said(platform.chat).count(CLEAR_WORDS) == 1
        await platform.write("no ab3d")
        assert await asking is Answer.NO
        # Where nothing is encrypted they are what they were
        await plain_word(platform, "seen")
        assert (await listener.first(3))[2].text == "seen"


async def test_a_login_of_another_program_is_refused_with_what_helps(
    platform: SealedMatrixPlatform, tmp_path: Path
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        await listener.first()
    for file in (tmp_path / "matrix").glob("vault.*"):
        file.unlink()
    async with listening(platform.restarted()):
        await platform.write("still there?")
        await wait_until(lambda: FOREIGN_LOGIN in clear_words(platform))


async def test_who_has_left_gets_no_key_for_what_is_said_then(
    platform: SealedMatrixPlatform,
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello", is_group=True)
        [heard] = await listener.first()
        for number in (1, 2):
            await platform.channel.send(answer(heard, f"number {number}", number))
        await asyncio.to_thread(platform.bert.call, "POST", f"/rooms/{platform.group}/leave", {})
        await platform.write("he is gone", is_group=True)
        await listener.first(2)
        await platform.channel.send(answer(heard, "number 3", 3))
        await stand(platform, heard, "number 1", "number 2", "number 3")
    keys = [one["session_id"] for one in said_by(platform, platform.agent.id, platform.group)]
    # Bert had no device that could have had the first one
    assert len(keys) == 3


async def test_a_key_serves_as_many_messages_as_the_room_wants(
    platform: SealedMatrixPlatform,
) -> None:
    rules = {"algorithm": "m.megolm.v1.aes-sha2", "rotation_period_msgs": 2}
    path = f"/rooms/{quote(platform.chat)}/state/m.room.encryption"
    await asyncio.to_thread(platform.anna.call, "PUT", path, rules)
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        texts = [f"number {number}" for number in range(5)]
        for number, text in enumerate(texts, 1):
            await platform.channel.send(answer(heard, text, number))
        await stand(platform, heard, *texts)
    keys = [one["session_id"] for one in said_by(platform, platform.agent.id)]
    assert [keys.count(one) for one in dict.fromkeys(keys)] == [2, 2, 1]


async def test_keys_to_begin_with_are_made_up_for(platform: SealedMatrixPlatform) -> None:
    us = platform.agent
    async with listening(platform.channel) as listener:
        await until_joined(platform.anna, platform.chat, us.id)
        wanted = {"one_time_keys": {us.id: {us.device: "signed_curve25519"}}}
        for _ in range(40):
            told = await asyncio.to_thread(platform.anna.call, "POST", "/keys/claim", wanted)
            assert told["one_time_keys"][us.id][us.device]
        # Of the fifty some may have been made up for meanwhile; without that ten are left
        await platform.write("hello")
        await listener.first()
        await wait_until(lambda: keys_left(platform) == 50)


async def test_lost_talk_between_devices_is_begun_anew(
    platform: SealedMatrixPlatform, tmp_path: Path
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("one")
        await listener.first()
    folder, kept = tmp_path / "matrix", tmp_path / "kept"
    shutil.copytree(folder, kept)
    channel = platform.restarted()
    async with listening(channel) as listener:
        platform.element.renew(platform.chat)
        await platform.write("two")
        [heard] = await listener.first()
        await channel.send(answer(heard, "Two."))
    # An older copy of the card: what was agreed on since is not there
    shutil.rmtree(folder)
    kept.rename(folder)
    async with listening(platform.restarted()) as listener:
        platform.element.renew(platform.chat)
        await platform.write("three")
        said_s = int(time.time())
        await plain_word(platform, "seen")
        await wait_until(lambda: "seen" in [one.text for one in listener.heard])
        # Element's library tells which beginning is newer by the second
        await wait_until(lambda: int(time.time()) > said_s)
        # What the room is told to do where its key does not come
        platform.element.renew(platform.chat)
        await platform.write("four")
        await wait_until(lambda: "four" in [one.text for one in listener.heard])


async def test_lost_keys_begin_as_another_device_of_the_same_login(
    platform: SealedMatrixPlatform, tmp_path: Path
) -> None:
    async with listening(with_password(platform, tmp_path)) as listener:
        await platform.write("one")
        await listener.first()
    before = shown_devices(platform)
    (tmp_path / "matrix" / "vault.db").write_bytes(b"damaged" * 100)
    channel = with_password(platform, tmp_path)
    async with listening(channel) as listener:
        await wait_until(lambda: len(shown_devices(platform) - before) == 1)
        await platform.write("two")
        heard = (await listener.first())[-1]
        await channel.send(answer(heard, "Two."))
        await stand(platform, heard, "Two.")
    # The one whose keys are lost gets none any more
    assert not shown_devices(platform) & before


async def test_signing_keys_of_another_program_are_replaced_with_the_password(
    platform: SealedMatrixPlatform, tmp_path: Path
) -> None:
    # Somebody made the account in Element, which signs it
    await asyncio.to_thread(lambda: element_program.Element(platform.agent).close())
    channel = with_password(platform, tmp_path)
    async with listening(channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        await channel.send(answer(heard, "Hi."))
        await stand(platform, heard, "Hi.")


def with_password(platform: SealedMatrixPlatform, folder: Path) -> Channel:
    """The channel as it is composed where a password is configured."""
    account = MatrixSettings(
        base_url=platform.agent.server, user=platform.agent.id, password=Secret("password")
    )
    reach = PlatformContext(Paths(None, folder), {}, platform.http, SystemClock())
    return catalog.platform("matrix").open(ChannelsSettings(matrix=account), reach)


def shown_devices(platform: SealedMatrixPlatform) -> set[str]:
    """Those of the agent's that its account has signed."""
    us = platform.agent.id
    told = platform.anna.call("POST", "/keys/query", {"device_keys": {us: []}})
    there = told["device_keys"].get(us, {})
    return {name for name, one in there.items() if len(one["signatures"][us]) > 1}


async def plain_word(platform: SealedMatrixPlatform, text: str) -> None:
    """Said to the agent where everybody could read it."""
    if not hasattr(platform, "plain"):
        told = {"is_direct": True, "preset": "private_chat"}
        platform.plain = platform.anna.make_room(platform.agent.id, **told)
    await until_joined(platform.anna, platform.plain, platform.agent.id)
    content = {"msgtype": "m.text", "body": text}
    await asyncio.to_thread(platform.anna.send, platform.plain, content)


async def as_sealed(user: synapse.MatrixUser, room: str, content: dict[str, Any]) -> None:
    """The server's own word for it."""
    path = f"/rooms/{quote(room)}/send/m.room.encrypted/again"
    await asyncio.to_thread(user.call, "PUT", path, content)


def said_by(platform: SealedMatrixPlatform, sender: str, room: str = "") -> list[dict[str, Any]]:
    """As the server has it."""
    events = platform.anna.events(room or platform.chat)
    return [
        one["content"]
        for one in events
        if one["sender"] == sender and one["type"] == "m.room.encrypted"
    ]


def clear_words(platform: SealedMatrixPlatform) -> list[str]:
    """What everybody could read of the agent's."""
    events = platform.anna.events(platform.chat)
    told = [one["content"] for one in events if one["sender"] == platform.agent.id]
    return [one.get("body", "") for one in told]


def keys_left(platform: SealedMatrixPlatform) -> int:
    told = platform.agent.call("POST", "/keys/upload", {})
    return int(told["one_time_key_counts"].get("signed_curve25519", 0))
