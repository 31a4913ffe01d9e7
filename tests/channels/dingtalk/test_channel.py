import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agent.channels.base import Answer, Question, YesBy
from agent.channels.dingtalk.client import HEARD
from agent.channels.dingtalk.receive import MOST_BEGUN
from agent.errors import ChannelUnavailable, MessageRefused, StorageFull
from agent.messages import Attachment
from tests.channels.dingtalk.conftest import World
from tests.contracts.listener import answer, listening
from tests.fakes.dingtalk_server import (
    ANNA,
    BEN,
    BOT,
    DM,
    ROOM,
    Fault,
)
from tests.waits import stays, wait_until


def content_of(file: Attachment) -> bytes:
    return Path(file.path).read_bytes()


async def test_it_asks_for_messages_alone_and_acknowledges_them_when_they_are_kept(
    world: World,
) -> None:
    async with listening(world.channel()) as listener:
        await world.connected()
        listener.may_keep.clear()
        await world.server.say(ANNA, DM, "hello")
        await stays(lambda: not world.server.acknowledgements, 0.02)
        listener.may_keep.set()
        await wait_until(lambda: world.server.acknowledgements)
    [told] = world.server.acknowledgements
    assert (told["code"], told["message"], told["data"]) == (200, "OK", '{"response": null}')
    assert told["headers"]["messageId"].startswith("213d841d_972_")
    assert world.server.subscriptions == [[{"type": "CALLBACK", "topic": HEARD}]]


async def test_a_ping_is_given_back_and_what_nobody_asked_for_is_not_found(world: World) -> None:
    async with listening(world.channel()):
        await world.connected()
        await world.server.ping("123-dsfs")
        await world.server.push("EVENT", "*", {"userId": ["x"]})
        await wait_until(lambda: len(world.server.acknowledgements) == 2)
    ping, event = world.server.acknowledgements
    assert (ping["code"], json.loads(ping["data"])) == (200, {"opaque": "123-dsfs"})
    assert event["code"] == 404


async def test_what_could_not_be_kept_is_tried_again_and_taken_once(world: World) -> None:
    channel = world.channel()
    async with listening(channel) as listener:
        await world.connected()
        listener.trouble = StorageFull("no room")
        message = await world.server.say(ANNA, DM, "only once said")
        await wait_until(lambda: listener.refused)
        listener.trouble = None
        await listener.first()
        await wait_until(lambda: world.server.open)
        await world.server.again(message)
        await world.server.say(ANNA, DM, "next")
        await listener.first(2)
        assert [one.text for one in listener.heard] == ["only once said", "next"]


async def test_what_stops_the_agent_waits_for_no_file_and_a_ping_for_nobody(world: World) -> None:
    world.server.files["c1"], world.server.types["c1"] = b"x", "image/png"
    channel = world.channel()
    async with listening(channel) as listener:
        await world.connected()
        world.server.hands_out.clear()
        await world.server.write(ANNA, DM, "picture", content={"downloadCode": "c1"})
        await wait_until(lambda: world.server.called("/files/c1"))
        await world.server.say(ANNA, DM, "and then")
        await world.server.ping("1")
        await world.server.say(ANNA, ROOM, " /estop")
        await wait_until(lambda: len(world.server.acknowledgements) == 2)
        assert [one.text for one in listener.heard] == ["/estop"]
        world.server.hands_out.set()
        await listener.first(3)
        assert [one.text for one in listener.heard] == ["/estop", "", "and then"]
        assert len(listener.heard[1].attachments) == 1
        await wait_until(lambda: len(world.server.acknowledgements) == 4)


async def test_what_was_heard_is_not_forgotten_when_the_line_is_cut_meanwhile(
    world: World,
) -> None:
    world.server.files["c1"], world.server.types["c1"] = b"x", "image/png"
    async with listening(world.channel()) as listener:
        await world.connected()
        world.server.hands_out.clear()
        await world.server.write(ANNA, DM, "picture", content={"downloadCode": "c1"})
        await wait_until(lambda: world.server.called("/files/c1"))
        await world.server.say(ANNA, DM, "behind it")
        # It answers in order: what was said before is heard
        await world.server.ping("1")
        await wait_until(lambda: world.server.acknowledgements)
        world.server.cut()
        await wait_until(lambda: world.server.begun == 2)
        world.server.hands_out.set()
        await listener.first(2)
        assert [one.text for one in listener.heard] == ["", "behind it"]
        assert len(listener.heard[0].attachments) == 1


async def test_what_stops_the_agent_and_cannot_be_kept_is_tried_again(world: World) -> None:
    async with listening(world.channel()) as listener:
        await world.connected()
        listener.trouble = StorageFull("no room")
        await world.server.say(ANNA, DM, "/stop")
        await wait_until(lambda: listener.refused)
        listener.trouble = None
        await listener.first()
        assert [one.text for one in listener.heard] == ["/stop"]


async def test_a_connection_that_is_to_end_is_followed_by_another_at_once(world: World) -> None:
    # Begun again by nobody else
    delivered: list[str] = []

    async def deliver(inbound: Any) -> None:
        delivered.append(inbound.text)

    task = asyncio.ensure_future(world.channel().listen(deliver))
    try:
        await world.connected()
        await world.server.say(ANNA, DM, "before")
        await world.server.disconnect()
        await wait_until(lambda: world.server.begun == 2)
        await world.server.say(ANNA, DM, "after")
        await wait_until(lambda: delivered == ["before", "after"])
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_connections_that_all_end_at_once_are_begun_a_few_times(world: World) -> None:
    task = asyncio.ensure_future(world.channel().listen(lambda _: asyncio.sleep(0)))
    for number in range(1, MOST_BEGUN + 1):
        await wait_until(lambda count=number: world.server.begun == count)
        await world.server.disconnect()
    with pytest.raises(ChannelUnavailable, match="as soon as it is open"):
        await task
    assert world.server.begun == MOST_BEGUN


async def test_frames_that_are_not_as_documented_end_nothing(world: World) -> None:
    async with listening(world.channel()) as listener:
        await world.connected()
        [connection] = world.server.open
        for frame in ("no JSON", "[1]", '{"type": 7}', b"\xff"):
            await connection.send(frame)
        await world.server.push("CALLBACK", HEARD, ["a list"])
        await world.server.write(ANNA, DM, "text", text="a string", senderNick=None)
        await world.server.write(ANNA, DM, "richText", content={"richText": [1, {"text": 2}]})
        await world.server.write(ANNA, DM, "picture", content=None)
        await world.server.write(ANNA, DM, "interactiveCard", content={})
        await listener.first(4)
        assert [one.text for one in listener.heard] == [
            "",
            "",
            "[something that cannot be read here: picture]",
            "[something that cannot be read here: interactiveCard]",
        ]
        assert world.server.begun == 1


async def test_who_is_of_another_organisation_is_not_taken_for_somebody_of_ours(
    world: World,
) -> None:
    """Ids of people are given by each organisation as it likes."""
    channel = world.channel()
    async with listening(channel) as listener:
        await world.connected()
        await world.server.say(ANNA, DM, "it is me", senderCorpId="another")
        await world.server.say(ANNA, DM, "not published", senderStaffId=None)
        for heard in await listener.first(2):
            assert (heard.sender, heard.reply_target) == (f"$:LWCP_v1:${ANNA}", f"chat:{DM}")
        await channel.send(answer(heard, "here"))
        assert [one.way for one in world.server.messages] == ["hook"]
    with pytest.raises(MessageRefused, match="published"):
        await world.channel().send(answer(heard, "here"))


async def test_in_groups_only_a_mention_is_heard_and_nothing_of_the_robots_own(
    world: World,
) -> None:
    async with listening(world.channel()) as listener:
        await world.connected()
        await world.server.say(ANNA, ROOM, "among us", isInAtList=False)
        await world.server.say(ANNA, DM, "loop", senderId=BOT)
        await world.server.say(ANNA, DM, "no place", conversationId="")
        await world.server.say(ANNA, DM, "what is it", conversationType="9")
        await world.server.say(BEN, ROOM, " you there")
        await wait_until(lambda: len(world.server.acknowledgements) == 5)
        assert [(one.text, one.sender) for one in listener.heard] == [("you there", BEN)]


async def test_a_document_comes_with_its_name_and_a_strangers_is_not_fetched(
    world: World,
) -> None:
    world.server.files["c1"], world.server.types["c1"] = b"a,b", "application/octet-stream"
    content = {"downloadCode": "c1", "fileName": "values.csv", "spaceId": "1", "fileId": "2"}
    async with listening(world.channel()) as listener:
        await world.connected()
        await world.server.write(ANNA, DM, "file", content=content)
        [heard] = await listener.first()
        [file] = heard.attachments
        assert (file.name, file.media_type) == ("values.csv", "text/csv")
        assert content_of(file) == b"a,b"
    async with listening(world.channel(knows=lambda _: False)) as listener:
        await world.connected()
        await world.server.write(ANNA, DM, "file", content=content)
        [heard] = await listener.first()
        assert (heard.notes, heard.attachments) == (
            ("I did not fetch a file: only of people with access I keep files.",),
            (),
        )
    assert len(world.server.called("messageFiles/download")) == 1


async def test_a_voice_message_is_heard_in_the_platforms_words_where_it_has_some(
    world: World,
) -> None:
    world.server.files["c1"], world.server.types["c1"] = b"#!AMR", "application/octet-stream"
    async with listening(world.channel()) as listener:
        await world.connected()
        said = {"downloadCode": "c1", "duration": 4000, "recognition": "lamp on"}
        await world.server.write(ANNA, DM, "audio", content=said)
        await world.server.write(ANNA, DM, "audio", content={"downloadCode": "c1"})
        written_down, heard = await listener.first(2)
        assert (written_down.text, written_down.attachments) == ("lamp on", ())
        assert (written_down.is_spoken, heard.is_spoken) == (True, False)
        assert heard.attachments[0].media_type == "audio/amr"
        assert "no speech service" in heard.notes[0]


async def test_a_file_of_sound_is_no_order_of_the_sender(world: World) -> None:
    world.server.files["c1"], world.server.types["c1"] = b"x", "audio/mpeg"
    async with listening(world.channel()) as listener:
        await world.connected()
        told = {"downloadCode": "c1", "fileName": "talk.mp3"}
        await world.server.write(ANNA, DM, "file", content=told)
        [heard] = await listener.first()
        assert (heard.notes, heard.attachments[0].name) == ((), "talk.mp3")


async def test_a_spoken_yes_in_the_platforms_words_approves_nothing(world: World) -> None:
    channel = world.channel()
    question = Question("lamp", "{}", "it moves", yes_by=YesBy.WORD, takes_word=lambda _: True)
    async with listening(channel) as listener:
        await world.connected()
        await world.server.say(ANNA, DM, "lamp on")
        [heard] = await listener.first()
        asking = asyncio.ensure_future(channel.ask(heard.address, question))
        await wait_until(lambda: world.server.messages)
        said = {"downloadCode": "c1", "duration": 900, "recognition": "yes"}
        await world.server.write(ANNA, DM, "audio", content=said)
        await wait_until(lambda: asking.done() or len(listener.heard) > 1)
        assert not asking.done()
        await world.server.say(ANNA, DM, "yes")
        assert await asking is Answer.YES


@pytest.mark.parametrize("trouble", ["download", "files"])
async def test_a_file_that_cannot_be_had_is_told_of(world: World, trouble: str) -> None:
    world.server.files["c1"], world.server.types["c1"] = b"x", "image/png"
    async with listening(world.channel()) as listener:
        await world.connected()
        world.server.faults.append(Fault(trouble, 502))
        await world.server.write(ANNA, DM, "picture", content={"downloadCode": "c1"})
        [heard] = await listener.first()
        assert heard.notes[0].startswith("I could not fetch a picture")
