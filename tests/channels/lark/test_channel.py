import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.channels.base import Answer, Mark, Question
from agent.channels.lark.client import REFRESH_EARLY_S
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused, StorageFull
from agent.messages import Outbound
from agent.net.http import HttpClient
from tests.contracts.listener import answer, listening
from tests.fakes import lark_server
from tests.fakes.clock import SteppedClock
from tests.fakes.lark_platform import channel_at
from tests.fakes.lark_server import ANNA, BEN, BOT, DM, ROOM, Fault, LarkServer, text_of
from tests.fakes.telegram_bot import content_of
from tests.waits import wait_until

QUESTION = Question("board_gpio_write", '{"pin":"led"}', "it moves something", always="the lamp")


@dataclass
class World:
    server: LarkServer
    http: HttpClient
    folder: Path

    def channel(self, **more: object):  # type: ignore[no-untyped-def] - the fake's own
        return channel_at(self.server, self.http, self.folder, **more)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    http = HttpClient()
    async with lark_server.running() as server:
        yield World(server, http, tmp_path)
        await http.aclose()


async def test_an_event_that_comes_in_parts_is_one_message(world: World) -> None:
    world.server.part_bytes = 100
    async with listening(world.channel()) as listener:
        await world.server.write(ANNA, DM, {"text": "long"})
        [heard] = await listener.first()
        assert (heard.text, heard.sender) == ("long", ANNA)
        await wait_until(lambda: not world.server.pending)
    [told] = world.server.acknowledgements
    assert told.header("seq") == str(told.number("sum") - 1)
    assert told.header("biz_rt").isdigit()


async def test_nothing_is_acknowledged_before_it_is_kept_and_nothing_kept_twice(
    world: World,
) -> None:
    async with listening(world.channel()) as listener:
        listener.may_keep.clear()
        event = await world.server.write(ANNA, DM, {"text": "once"})
        await wait_until(lambda: world.server.pings)
        await world.server.again(event)
        assert not world.server.acknowledgements
        listener.may_keep.set()
        await wait_until(lambda: not world.server.pending)
        assert [one.text for one in listener.heard] == ["once"]
        listener.trouble = StorageFull("no room")
        await world.server.write(ANNA, DM, {"text": "later"})
        await wait_until(lambda: len(world.server.called("POST", "endpoint")) > 1)
        assert world.server.pending
        listener.trouble = None
        await wait_until(lambda: not world.server.pending)


async def test_it_pings_as_often_as_the_platform_wants(world: World) -> None:
    world.server.ping_every_s = 0
    async with listening(world.channel()):
        await wait_until(lambda: world.server.pings)
    assert len(world.server.called("POST", "endpoint")) == 1


async def test_an_apps_words_are_nobodys(world: World) -> None:
    async with listening(world.channel()) as listener:
        sender = {"sender_id": {"open_id": "ou_other"}, "sender_type": "app"}
        message = {"message_id": "om_x", "chat_id": DM, "chat_type": "p2p"}
        told = {**message, "message_type": "text", "content": '{"text":"loop"}'}
        await world.server.tell("im.message.receive_v1", {"sender": sender, "message": told})
        await world.server.tell("im.chat.updated_v1", {"message": "of another shape"})
        await world.server.write(ANNA, DM, {"text": "person"})
        await listener.first()
        assert [one.text for one in listener.heard] == ["person"]


async def test_a_long_text_is_heard_to_its_end(world: World) -> None:
    # The platform takes 150 KB
    text = "a line of a log\n" * 2000 + "what is wrong there?"
    async with listening(world.channel()) as listener:
        await world.server.write(ANNA, DM, {"text": text})
        [heard] = await listener.first()
        assert heard.text == text


async def test_a_stop_needs_no_name_in_a_group(world: World) -> None:
    async with listening(world.channel()) as listener:
        for text in ("lamp on", "/estop"):
            await world.server.write(ANNA, ROOM, {"text": text})
        [heard] = await listener.first()
        assert heard.text == "/estop"


async def test_names_stand_where_keys_of_mentions_stood(world: World) -> None:
    mentions = [
        {"key": "@_user_1", "id": {"open_id": BOT}, "name": "Barnacle"},
        {"key": "@_user_10", "id": {"open_id": BEN}, "name": "Ben"},
    ]
    async with listening(world.channel()) as listener:
        text = {"text": "@_user_1 ask @_user_10"}
        await world.server.write(ANNA, ROOM, text, mentions=mentions)
        [heard] = await listener.first()
        assert heard.text == "ask @Ben"


@pytest.mark.parametrize(
    ("kind", "content"),
    [("text", "no JSON"), ("text", "[1]"), ("sticker", "{}"), ("post", '{"content":[[1],2]}')],
)
async def test_content_of_any_shape_is_heard(world: World, kind: str, content: str) -> None:
    async with listening(world.channel()) as listener:
        await world.server.write_raw(ANNA, DM, content, kind)
        [heard] = await listener.first()
        assert heard.text in {"", "[something that cannot be read here: sticker]"}


async def test_a_rich_text_keeps_where_its_links_lead_and_its_films(world: World) -> None:
    world.server.files = {"img_1": b"picture", "file_1": b"film"}
    link = {"tag": "a", "href": "https://x.example/a?b", "text": "this page", "style": ["bold"]}
    bare = {"tag": "a", "href": "https://x.example", "text": "https://x.example"}
    picture = {"tag": "img", "image_key": "img_1"}
    # The picture that it is shown by has a key besides
    film = {"tag": "media", "file_key": "file_1", "image_key": "img_1"}
    words = [{"tag": "text", "text": "read "}, link, {"tag": "text", "text": " or "}, bare]
    content = {"title": "", "content": [words, [picture], [film]]}
    async with listening(world.channel()) as listener:
        await world.server.write(ANNA, DM, content, kind="post")
        [heard] = await listener.first()
    assert heard.text == "read this page (https://x.example/a?b) or https://x.example"
    assert [content_of(file) for file in heard.attachments] == [b"picture", b"film"]


async def test_only_what_was_recorded_in_the_chat_is_speech(world: World) -> None:
    world.server.files = {"file_1": b"x"}
    world.server.types = {"file_1": "audio/opus"}
    async with listening(world.channel()) as listener:
        told = {"file_key": "file_1", "file_name": "talk.opus"}
        await world.server.write(ANNA, DM, told, kind="file")
        await world.server.write(ANNA, DM, {"file_key": "file_1", "duration": 900}, kind="audio")
        sent, recorded = await listener.first(2)
    assert (sent.notes, sent.attachments[0].name) == ((), "talk.opus")
    assert "no speech service" in recorded.notes[0]


async def test_a_strangers_file_is_not_fetched(world: World) -> None:
    async with listening(world.channel(knows=lambda _: False)) as listener:
        content = {"file_key": "file_v2_1", "file_name": "x.pdf"}
        await world.server.write(ANNA, DM, content, kind="file")
        [heard] = await listener.first()
        assert heard.notes == ("I did not fetch a file: only of people with access I keep files.",)
    assert not world.server.called("GET", "resources")


async def test_what_cannot_wait_waits_for_no_file_and_comes_once(world: World) -> None:
    channel, server = world.channel(), world.server
    server.files, other = {"file_1": b"film"}, replace(QUESTION, question_id="abcd")
    server.may_hand_out.clear()
    async with listening(channel) as listener:
        await server.write(ANNA, DM, {"text": "lamp on"})
        [heard] = await listener.first()
        asked = [
            asyncio.ensure_future(channel.ask(heard.address, one)) for one in (QUESTION, other)
        ]
        await wait_until(lambda: len(server.messages) == 2)
        await server.write(ANNA, DM, {"file_key": "file_1", "file_name": "x.mp4"}, kind="media")
        await wait_until(lambda: server.called("GET", "resources"))
        await server.write(ANNA, DM, {"text": "and then"})
        await server.press(ANNA, server.messages[0], "No")
        await server.write(ANNA, DM, {"text": "yes abcd"})
        stop = await server.write(ANNA, DM, {"text": "/stop"})
        assert await asyncio.gather(*asked) == [Answer.NO, Answer.YES]
        assert (await listener.first(2))[1].text == "/stop"
        await wait_until(lambda: len(server.pending) == 2)
        server.may_hand_out.set()
        await server.again(stop)
        await wait_until(lambda: not server.pending)
        assert [one.text for one in listener.heard] == ["lamp on", "/stop", "", "and then"]
        assert len(listener.heard[2].attachments) == 1


async def test_only_who_was_asked_can_press_and_only_once(world: World) -> None:
    channel = world.channel()
    async with listening(channel) as listener:
        await world.server.write(ANNA, DM, {"text": "lamp on"})
        [heard] = await listener.first()
        asking = asyncio.ensure_future(channel.ask(heard.address, QUESTION))
        await wait_until(lambda: world.server.messages)
        card = {**world.server.messages[0], "chat": DM}
        await world.server.press(BEN, card, "Yes")
        await world.server.press(ANNA, {**card, "chat": ROOM}, "Yes")
        await wait_until(lambda: not world.server.pending)
        assert not asking.done()
        await world.server.press(ANNA, card, "Always")
        assert await asking is Answer.ALWAYS


async def test_a_token_is_renewed_before_its_end_and_when_it_is_refused(world: World) -> None:
    clock = SteppedClock()
    channel = world.channel(clock=clock)
    await channel.send(Outbound(1, "lark", DM, "one", ""))
    clock.advance(7200 - REFRESH_EARLY_S - 1)
    await channel.send(Outbound(2, "lark", DM, "two", ""))
    assert len(world.server.tokens) == 1
    clock.advance(2)
    await channel.send(Outbound(3, "lark", DM, "three", ""))
    assert len(world.server.tokens) == 2
    world.server.tokens.append("another")
    await channel.send(Outbound(4, "lark", DM, "four", ""))
    assert [text_of(one) for one in world.server.messages] == ["one", "two", "three", "four"]
    assert len(world.server.tokens) == 4


async def test_the_same_message_again_stands_there_once(world: World) -> None:
    channel = world.channel()
    for _ in range(2):
        await channel.send(Outbound(7, "lark", DM, "once", ""))
    assert len(world.server.messages) == 1


async def test_what_was_recalled_is_answered_in_its_chat(world: World) -> None:
    channel = world.channel()
    world.server.faults.append(Fault("/reply", 400, {"code": 230011, "msg": "recalled"}))
    await channel.send(Outbound(1, "lark", DM, "here", "om_gone"))
    assert [one["chat"] for one in world.server.messages] == [DM]


async def test_a_thread_whose_first_message_was_recalled_is_answered_in_it(world: World) -> None:
    channel = world.channel()
    gone = Fault("/om_root/reply", 400, {"code": 230011, "msg": "recalled"})
    world.server.faults.append(gone)
    await channel.send(Outbound(1, "lark", ROOM, "here", "om_asked", "om_root"))
    [message] = world.server.messages
    assert (message["answers"], message["is_in_thread"]) == ("om_asked", True)
    # Where that is gone as well, it is not said to all
    world.server.faults += [gone, Fault("/om_asked/reply", 400, {"code": 230011, "msg": "gone"})]
    with pytest.raises(MessageRefused, match="recalled"):
        await channel.send(Outbound(2, "lark", ROOM, "there", "om_asked", "om_root"))
    assert len(world.server.messages) == 1


async def test_a_model_mentions_nobody(world: World) -> None:
    await world.channel().send(Outbound(1, "lark", ROOM, '`<at user_id="all"></at>`', ""))
    [message] = world.server.messages
    assert "<at" not in json.loads(message["content"])["text"]


@pytest.mark.parametrize(
    ("code", "kind"),
    [(99991672, ChannelRefused), (230001, MessageRefused), (230020, ChannelUnavailable)],
)
async def test_a_refusal_says_what_is_to_be_done(
    world: World, code: int, kind: type[Exception]
) -> None:
    world.server.faults.append(Fault("/im/v1/messages", 400, {"code": code, "msg": "no"}))
    with pytest.raises(kind, match=str(code)):
        await world.channel().send(Outbound(1, "lark", DM, "here", ""))


async def test_a_sign_takes_the_place_of_the_one_before(world: World) -> None:
    channel = world.channel()
    async with listening(channel) as listener:
        await world.server.write(ANNA, DM, {"text": "hello"})
        [heard] = await listener.first()
        await channel.mark(heard, Mark.SEEN)
        await channel.mark(heard, Mark.DONE)
        assert [one["emoji_type"] for one in world.server.reactions.values()] == ["DONE"]
        world.server.faults.append(Fault("/reactions", 400, {"code": 231003, "msg": "gone"}))
        await channel.mark(heard, Mark.FAILED)
        await channel.send(answer(heard, "still here"))


@pytest.mark.parametrize(
    ("headers", "kind"),
    [
        ({"Handshake-Status": "514", "Handshake-Msg": "auth"}, ChannelRefused),
        ({"Handshake-Status": "514", "Handshake-Autherrcode": "1000040350"}, ChannelUnavailable),
        ({"Handshake-Status": "500"}, ChannelUnavailable),
    ],
)
async def test_a_handshake_that_is_refused_says_whether_it_may_work_later(
    world: World, headers: dict[str, str], kind: type[Exception]
) -> None:
    world.server.refuses = headers
    with pytest.raises(kind):
        await world.channel().listen(lambda _: asyncio.sleep(0))


async def test_what_is_no_frame_ends_the_connection(world: World) -> None:
    channel = world.channel()
    listener = asyncio.ensure_future(channel.listen(lambda _: asyncio.sleep(0)))
    await wait_until(lambda: world.server.pings)
    for connection in world.server.open:
        await connection.send(b"\xff\xff")
    with pytest.raises(ChannelUnavailable, match="unreadable frame"):
        await listener
