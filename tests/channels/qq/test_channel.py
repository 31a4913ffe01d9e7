import asyncio
from typing import Any

import msgspec
import pytest

from agent.channels.base import Answer, Question
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused
from agent.messages import Attachment, Whose
from tests.channels.qq.conftest import ME, World, begun
from tests.contracts.listener import Listener, answer, listening
from tests.fakes.clock import SteppedClock
from tests.fakes.qq_server import (
    ANNA,
    ANNA_IN_GUILD,
    ANNA_IN_ROOM,
    BEN,
    CHANNEL,
    DM,
    ROOM,
    Fault,
)
from tests.waits import wait_until

QUESTION = Question("board_gpio_write", '{"pin":"led"}', "it moves something")


async def test_each_place_is_answered_where_it_is(world: World) -> None:
    channel = world.channel()
    async with listening(channel) as listener:
        await begun(world)
        world.server.write("in private")
        world.server.write_in_room("in a group")
        world.server.write_in_guild("in a guild &lt;3")
        world.server.write_in_private_of_guild("in private of a guild")
        heard = await listener.first(4)
        for one in heard:
            await channel.send(answer(one, "Here."))
    assert [(one.sender, one.reply_target, one.is_group) for one in heard] == [
        (ANNA, f"user:{ANNA}", False),
        (ANNA_IN_ROOM, f"group:{ROOM}", True),
        (ANNA_IN_GUILD, f"channel:{CHANNEL}", True),
        (ANNA_IN_GUILD, f"dm:{DM}", False),
    ]
    assert [one.text for one in heard] == [
        "in private",
        "in a group",
        "in a guild <3",
        "in private of a guild",
    ]
    assert [one["place"] for one in world.server.messages] == [
        f"users/{ANNA}",
        f"groups/{ROOM}",
        f"channels/{CHANNEL}",
        f"dms/{DM}",
    ]
    assert [one["msg_id"] for one in world.server.messages] == [one.message_id for one in heard]


async def test_groups_are_not_heard_where_nobody_wants_them(world: World) -> None:
    async with listening(world.channel(groups="off")) as listener:
        await begun(world)
        world.server.write_in_room("in a group")
        world.server.write_in_open_room("in a group", mentions=[ME])
        world.server.write_in_open_room("/stop")
        world.server.write_in_guild("in a guild")
        world.server.write("in private")
        [heard] = await listener.first()
    assert heard.text == "in private"


async def test_other_bots_and_what_is_not_as_documented_hold_up_nobody(world: World) -> None:
    async with listening(world.channel()) as listener:
        await begun(world)
        bot = {"id": "1", "bot": True}
        world.server.write_in_guild("from a bot", author=bot)
        world.server.tell("C2C_MESSAGE_CREATE", {"id": 7, "author": []})
        world.server.tell("C2C_MESSAGE_CREATE", {"id": "x", "author": {"user_openid": "../x"}})
        world.server.tell("C2C_MESSAGE_CREATE", {"id": "a b", "author": {"user_openid": "X"}})
        world.server.tell("FRIEND_ADD", {"openid": ANNA})
        world.server.tell("NOBODY_KNOWS", None)
        world.server.write("hello")
        [heard] = await listener.first()
    assert heard.text == "hello"


async def test_a_token_is_renewed_before_its_end_and_when_it_is_not_taken(world: World) -> None:
    clock = SteppedClock()
    channel = world.channel(clock=clock)
    tokens = world.server.tokens
    async with listening(world.channel()) as listener:
        await begun(world)
        world.server.write("hello")
        [heard] = await listener.first()
        world.server.lasts_s = 55
        await channel._sending._windows.open(heard.reply_target, heard.message_id)
        await channel.send(answer(heard, "One.", 1))
        before = len(tokens)
        clock.advance(4)
        await channel.send(answer(heard, "Two.", 2))
        assert len(tokens) == before
        clock.advance(2)
        await channel.send(answer(heard, "Three.", 3))
        assert len(tokens) == before + 1
        # Somebody else was given another one
        tokens.append("t-another")
        await channel.send(answer(heard, "Four.", 4))
    assert [one["content"] for one in world.server.messages] == ["One.", "Two.", "Three.", "Four."]


async def test_two_that_want_a_token_ask_once(world: World) -> None:
    api = world.channel()._sending._api
    await asyncio.gather(*(api.authorization() for _ in range(5)))
    assert len(world.server.called("POST", "getAppAccessToken")) == 1


@pytest.mark.parametrize(
    ("fault", "kind", "clue"),
    [
        (Fault("Token", 200, {"code": 100016, "message": "invalid"}), ChannelRefused, "app_secret"),
        (Fault("Token", 200, {"code": 100001, "message": "busy"}), ChannelUnavailable, "too often"),
        (Fault("Token", 502), ChannelUnavailable, "trouble"),
        (Fault("Token", 200), ChannelUnavailable, "trouble"),
        (
            Fault("/gateway", 401, {"code": 11298, "message": "ip"}),
            ChannelRefused,
            "list of addresses",
        ),
        (Fault("/gateway", 200, {"url": "http://x"}), ChannelUnavailable, "trusted"),
        (
            Fault(
                "/gateway",
                200,
                {"url": "ws://x", "session_start_limit": {"remaining": 0, "reset_after": 9000}},
            ),
            ChannelUnavailable,
            "too many sessions",
        ),
    ],
)
async def test_trouble_at_the_beginning_is_said(
    fault: Fault, kind: type[Exception], clue: str, world: World
) -> None:
    world.server.faults.append(fault)
    with pytest.raises(kind, match=clue):
        await world.channel().listen(Listener().deliver)


async def test_a_token_that_the_gateway_does_not_take_is_changed(world: World) -> None:
    channel = world.channel()
    async with listening(channel) as listener:
        await begun(world)
        world.server.closes_with = 4004
        world.server.lasts_s = 30
        world.server.cut()
        await wait_until(lambda: len(world.server.tokens) > 1 and world.server.is_listened_to)
        world.server.write("hello")
        await listener.first()


async def test_a_file_goes_as_what_it_is_and_is_read_while_it_goes(world: World) -> None:
    channel = world.channel()
    content = bytes(range(256)) * 700
    path = world.folder / "picture"
    path.write_bytes(content)
    async with listening(channel) as listener:
        await begun(world)
        world.server.write("hello")
        [heard] = await listener.first()
        for number, kind in enumerate(("image/png", "text/csv"), 1):
            file = Attachment(str(path), kind, 'a "table".csv', len(content))
            await channel.send(replaced(heard, number, file))
    assert [*world.server.uploads.values()] == [content, content]
    first, second = world.server.called("POST", "/files")
    assert first["file_type"] == 1
    assert (second["file_type"], second["file_name"]) == (4, 'a "table".csv')
    assert [one["msg_type"] for one in world.server.messages] == [7, 7]


async def test_what_the_platform_does_not_take_as_a_file_is_said(world: World) -> None:
    channel = world.channel()
    (world.folder / "t.csv").write_text("1,2")
    file = Attachment(str(world.folder / "t.csv"), "text/csv", "t", 3)
    gone = Attachment(str(world.folder / "gone"), "text/csv", "g", 3)
    async with listening(channel) as listener:
        await begun(world)
        world.server.write_in_room("hello")
        world.server.write_in_guild("hello")
        in_room, in_guild = await listener.first(2)
        await channel.send(replaced(in_room, 1, file))
        await channel.send(replaced(in_guild, 2, file))
        await channel.send(replaced(in_room, 3, gone))
    assert [one["content"] for one in world.server.messages] == [
        "(t is of a kind that QQ does not take here.)",
        "(t cannot go here: QQ's guilds take none.)",
        "(g was to come with this, and is not there any more.)",
    ]


async def test_addresses_that_are_refused_are_written_for_people(world: World) -> None:
    channel = world.channel()
    async with listening(channel) as listener:
        await begun(world)
        world.server.write("hello")
        [heard] = await listener.first()
        await channel.send(answer(heard, "See https://example.org/a.html for 1.5 V.", 1))
        world.server.takes_addresses = True
        await channel.send(answer(heard, "See https://example.org/a.html.", 2))
    assert [one["content"] for one in world.server.messages] == [
        "See https :// example . org/a . html for 1.5 V.",
        "See https://example.org/a.html.",
    ]
    assert [one["msg_seq"] for one in world.server.messages] == [1, 2]


async def test_a_refusal_is_of_the_message_alone_and_costs_no_number(world: World) -> None:
    channel = world.channel()
    async with listening(channel) as listener:
        await begun(world)
        world.server.write("hello")
        [heard] = await listener.first()
        world.server.faults.append(Fault("/messages", 400, {"code": 50006, "message": "no"}))
        with pytest.raises(MessageRefused, match="50006"):
            await channel.send(answer(heard, "One.", 1))
        await channel.send(answer(heard, "Two.", 2))
    assert [one["msg_seq"] for one in world.server.messages] == [1]


async def test_what_waits_to_be_looked_at_by_the_platform_is_sent(world: World) -> None:
    channel = world.channel()
    async with listening(channel) as listener:
        await begun(world)
        world.server.write_in_guild("hello")
        [heard] = await listener.first()
        told = {"code": 304024, "message": "REPLY_MSG_ASYNC_OK"}
        world.server.faults.append(Fault("/messages", 202, told))
        await channel.send(answer(heard, "One.", 1))


async def test_a_question_is_answered_only_by_whom_it_was_for(world: World) -> None:
    channel = world.channel()
    async with listening(channel) as listener:
        await begun(world)
        world.server.write("lamp on")
        [heard] = await listener.first()
        asking = asyncio.ensure_future(channel.ask(heard.address, QUESTION))
        await wait_until(lambda: world.server.messages)
        world.server.write(f"yes {QUESTION.question_id}", BEN)
        await listener.first(2)
        assert not asking.done()
        world.server.write(f"no {QUESTION.question_id}")
        assert await asking is Answer.NO


async def test_the_files_of_strangers_and_of_elsewhere_are_not_fetched(world: World) -> None:
    path = "/download/1"
    world.server.kept[path] = b"content"
    theirs = {"url": f"{world.server.url}{path}", "content_type": "image/png"}
    async with listening(world.channel(knows=lambda one: one.sender == ANNA)) as listener:
        await begun(world)
        elsewhere = [
            {"url": url, "content_type": "file"} for url in ("https://x.org/a", "//[", "x")
        ]
        world.server.write("look", attachments=elsewhere)
        world.server.write("look", BEN, attachments=[theirs])
        large = {**theirs, "size": 10**12}
        world.server.write("look", attachments=[large])
        anna, ben, much = await listener.first(3)
    assert sum("the file is not on QQ's server" in note for note in anna.notes) == 3
    assert (ben.text, ben.notes) == (
        "look",
        ("I did not fetch a picture: only of people with access I keep files.",),
    )
    assert "larger than 20 MB" in much.notes[0]
    assert not world.server.called("GET", "download")


async def test_what_stops_the_agent_and_what_answers_a_question_waits_for_no_file(
    world: World,
) -> None:
    world.server.may_download.clear()
    world.server.kept["/download/1"] = b"content"
    file = {"url": f"{world.server.url}/download/1", "content_type": "image/png"}
    channel = world.channel()
    async with listening(channel) as listener:
        await begun(world)
        world.server.write("lamp on")
        [heard] = await listener.first()
        asking = asyncio.ensure_future(channel.ask(heard.address, QUESTION))
        await wait_until(lambda: world.server.messages)
        world.server.write("look", attachments=[file])
        await wait_until(lambda: world.server.called("GET", "download"))
        world.server.write("and then?")
        world.server.write(f"yes {QUESTION.question_id}")
        world.server.write_in_room("/estop")
        assert await asking is Answer.YES
        await listener.first(2)
        world.server.may_download.set()
        await listener.first(4)
        world.server.write("the last")
        await listener.first(5)
        # Each once: what was ahead is known in its turn
        said = [one.text for one in listener.heard]
    assert said == ["lamp on", "/estop", "look", "and then?", "the last"]


async def test_what_is_answered_to_is_quoted_and_nobodys_order(world: World) -> None:
    async with listening(world.channel()) as listener:
        await begun(world)
        quote = [{"content": "the \u202equoted\nwords", "author": {"id": ANNA}}]
        world.server.write("what of it?", message_type=103, msg_elements=quote)
        world.server.write("nothing", message_type=0, msg_elements=quote)
        world.server.write("nothing", message_type=103)
        heard = await listener.first(3)
    assert [one.quoted for one in heard] == ["the quoted\nwords", "", ""]
    assert {one.quoted_of for one in heard} == {Whose.ANYBODYS}


async def test_what_was_spoken_comes_as_the_platform_wrote_it_down(world: World) -> None:
    path = "/download/1"
    world.server.kept[path] = b"RIFF"
    told = {"content_type": "voice", "url": "x.amr", "voice_wav_url": f"{world.server.url}{path}"}
    async with listening(world.channel()) as listener:
        await begun(world)
        world.server.write("", attachments=[{**told, "asr_refer_text": "turn it on"}])
        world.server.write("", attachments=[told])
        written, kept = await listener.first(2)
    assert written.text == "turn it on\n[spoken; QQ wrote it down]"
    assert [file.media_type for file in kept.attachments] == ["audio/wav"]
    assert "no speech service" in kept.notes[0]


def replaced(heard: Any, number: int, file: Attachment) -> Any:
    """An answer that is a file alone."""
    return msgspec.structs.replace(answer(heard, "", number), files=(file,))
