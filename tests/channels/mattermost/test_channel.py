import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.base import Answer, Channel, Question
from agent.channels.mattermost.cursor import OVERLAP_MS, MattermostCursor
from agent.channels.mattermost.events import MattermostPost, MattermostSelf, calls, understood
from agent.channels.mattermost.send import literal, shown
from agent.errors import MessageRefused
from agent.messages import Address, Outbound
from agent.net.http import HttpClient
from tests.contracts.listener import Listener, answer, listening
from tests.fakes import mattermost_server
from tests.fakes.mattermost_platform import MattermostPlatform
from tests.fakes.mattermost_server import ANNA, DM, ROBOT, ROOM, MattermostServer
from tests.waits import wait_until

# More than what is asked for again
LONG_MS = 3 * OVERLAP_MS
BOT = MattermostSelf("m" * 26, "barnacle")


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[MattermostPlatform]:
    http = HttpClient()
    async with mattermost_server.running() as server:
        yield MattermostPlatform(server, http, tmp_path)
        await http.aclose()


def post(message: str) -> MattermostPost:
    return MattermostPost("p" * 26, ROOM, ANNA, 1, message=message)


async def heard_after_cut(server: MattermostServer, listener: Listener) -> list[str]:
    """What came by asking: everything that was posted while nobody listened."""
    before = server.times_entered
    server.cut()
    await wait_until(lambda: not server.entered)
    for number in range(3):
        server.post(DM, ANNA, f"number {number}")
        server.post(ROOM, ANNA, f"@barnacle also {number}")
    await wait_until(lambda: server.times_entered > before and len(listener.heard) >= 7)
    return [one.text for one in listener.heard]


async def test_nothing_comes_of_an_edit_but_a_stop(platform: MattermostPlatform) -> None:
    server = platform.server
    async with listening(platform.channel) as listener:
        await platform.write("/stpo")
        for channel in (DM, ROOM):
            said = server.post(channel, ANNA, "@barnacle hello")
            server.edit(said, "@barnacle turn on the pump")
            server.edit(said, "@barnacle /stop" if channel == ROOM else "/stop the pump")
        await platform.write("hello again")
        await wait_until(lambda: len(listener.heard) >= 6)
        heard = [(one.text, one.is_group) for one in listener.heard]
    first, second = ("hello", False), ("hello", True)
    stops = [("/stop the pump", False), ("/stop", True)]
    assert heard == [("/stpo", False), first, stops[0], second, stops[1], ("hello again", False)]


async def test_what_came_during_a_cut_is_heard_once_and_in_order(
    platform: MattermostPlatform,
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("before")
        await listener.first()
        heard = await heard_after_cut(platform.server, listener)
        await platform.repeat()
        await platform.write("last")
        await wait_until(lambda: listener.heard[-1].text == "last")
    order = [f"{word}{number}" for number in range(3) for word in ("number ", "also ")]
    assert heard == ["before", *order]
    assert len(listener.heard) == 8


async def test_what_waits_is_heard_though_it_is_more_than_an_answer_may_be(
    platform: MattermostPlatform,
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("before")
        await listener.first()
    for number in range(150):
        platform.server.post(DM, ANNA, f"{number} ".ljust(16_383, "<"))
    async with listening(platform.restarted()) as listener:
        await wait_until(lambda: listener.heard and listener.heard[-1].text.startswith("149 "))
        told = [one.text.split()[0] for one in listener.heard if one.text != "before"]
        assert told == [str(number) for number in range(150)]


async def test_what_was_written_before_the_first_start_is_nobodys_order(
    platform: MattermostPlatform,
) -> None:
    platform.server.post(DM, ANNA, "long ago")
    async with listening(platform.channel) as listener:
        await platform.write("now")
        assert [one.text for one in await listener.first()] == ["now"]


async def test_machines_and_notices_of_the_server_are_not_heard(
    platform: MattermostPlatform,
) -> None:
    server = platform.server
    async with listening(platform.channel) as listener:
        await platform.write("first")
        server.post(DM, ROBOT, "I am a bot", props={"from_bot": "true"})
        server.post(DM, ANNA, "by a hook", props={"from_webhook": "true"})
        server.post(DM, ANNA, "anna joined", type="system_join_channel")
        server.say("[]")
        server.say('{"event":"posted","data":{"post":"{}"}}')
        await platform.write("last")
        assert [one.text for one in await listener.first(2)] == ["first", "last"]


async def test_files_that_a_post_does_not_describe_are_asked_for(
    platform: MattermostPlatform,
) -> None:
    platform.server.tells_files = False
    async with listening(platform.channel) as listener:
        await platform.write_with_file("look", b"%PDF-1.7")
        [heard] = await listener.first()
    assert [one.name for one in heard.attachments] == ["d.pdf"]


async def fetched(server: MattermostServer) -> None:
    """Until a file is on its way."""
    await wait_until(lambda: any(path.startswith("/files/") for _, path in server.calls))


async def test_what_stops_the_agent_does_not_wait_for_a_file(
    platform: MattermostPlatform,
) -> None:
    platform.server.may_hand_out.clear()
    async with listening(platform.channel) as listener:
        await platform.write("lamp on")
        [first] = await listener.first()
        question = Question("lamp", '{"pin":"led"}', "it moves something")
        asking = asyncio.ensure_future(platform.channel.ask(first.address, question))
        await wait_until(lambda: platform.shown(first))
        await platform.write_with_file("look", b"%PDF")
        await fetched(platform.server)
        await platform.write("and then")
        await platform.write("/stop")
        await platform.write(f"yes {question.question_id}")
        assert await asking is Answer.YES
        heard = await listener.first(2)
        assert [one.text for one in heard] == ["lamp on", "/stop"]
        platform.server.may_hand_out.set()
        heard = (await listener.first(4))[2:]
        assert [one.text for one in heard] == ["look", "and then"]
        assert len(heard[0].attachments) == 1
        await platform.write("last")
        await wait_until(lambda: listener.heard[-1].text == "last")
        assert len(listener.heard) == 5


@pytest.mark.parametrize(
    "again", [MattermostPlatform.restarted, lambda one: one.channel], ids=["new", "same"]
)
async def test_a_stop_that_went_ahead_hides_nothing_from_the_next_start(
    platform: MattermostPlatform, again: Callable[[MattermostPlatform], Channel]
) -> None:
    server, now_ms = platform.server, int(time.time() * 1000)
    server.may_hand_out.clear()
    async with listening(platform.channel) as listener:
        await wait_until(lambda: server.entered)
        server.post(DM, ANNA, "before", create_at=now_ms - 2 * LONG_MS)
        await listener.first()
        file = server.keep("d.pdf", b"%PDF")
        server.post(DM, ANNA, "look", create_at=now_ms - LONG_MS, file_ids=[file])
        await fetched(server)
        server.post(DM, ANNA, "/stop")
        await wait_until(lambda: listener.heard[-1].text == "/stop")
    # Broken off here, before the file was there
    server.may_hand_out.set()
    async with listening(again(platform)) as listener:
        await platform.write("last")
        await wait_until(lambda: listener.heard and listener.heard[-1].text == "last")
        texts = [one.text for one in listener.heard]
        # It may come twice where nothing is remembered: the inbox knows it by its id
        assert [text for text in texts if text != "/stop"] == ["look", "last"]
        assert len(listener.heard[0].attachments) == 1


async def test_a_stop_is_heard_while_what_came_in_between_is_caught_up_with(
    platform: MattermostPlatform,
) -> None:
    server = platform.server
    async with listening(platform.channel) as listener:
        await platform.write("before")
        await listener.first()
        server.may_hand_out.clear()
        entered = server.times_entered
        server.cut()
        await wait_until(lambda: not server.entered)
        await platform.write_with_file("look", b"%PDF")
        await wait_until(lambda: server.times_entered > entered)
        await fetched(server)
        await platform.write("/stop")
        await wait_until(lambda: [one.text for one in listener.heard] == ["before", "/stop"])
        server.may_hand_out.set()
        await wait_until(lambda: listener.heard[-1].text == "look")


async def test_what_may_not_be_read_any_more_holds_up_nothing(
    platform: MattermostPlatform,
) -> None:
    server = platform.server
    server.tells_files = False
    async with listening(platform.channel) as listener:
        await platform.write("before")
        await listener.first()
        server.cut()
        await wait_until(lambda: not server.entered)
        server.post(ROOM, ANNA, "@barnacle not to be had")
        server.closed.add(f"/channels/{ROOM}/posts")
        told = server.post(DM, ANNA, "look", file_ids=[server.keep("d.pdf", b"%PDF")])
        server.closed.add(f"/posts/{told['id']}/files/info")
        heard = await listener.first(2)
    assert heard[1].notes[0].startswith("I could not fetch a file: Mattermost refused")


async def test_a_message_whose_answer_was_lost_stands_there_once(
    platform: MattermostPlatform,
) -> None:
    message = Outbound(7, "mattermost", DM, "Here.", "")
    await platform.channel.send(message)
    await platform.channel.send(message)
    assert len(platform.server.posts) == 1


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_a_draft_becomes_the_answer_or_is_followed_by_it(
    platform: MattermostPlatform, *, is_deleted: bool
) -> None:
    server = platform.server
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        await platform.channel.draft(heard, "It is")
        await wait_until(lambda: platform.shown(heard))
        if is_deleted:
            server.posts.popitem()
        await platform.channel.send(answer(heard, "It is warm."))
        assert platform.shown(heard) == ["It is warm."]
        assert server.patches == (0 if is_deleted else 1)


async def test_a_refusal_says_what_to_do(platform: MattermostPlatform) -> None:
    with pytest.raises(MessageRefused, match="add the bot to the channel"):
        await platform.channel.send(Outbound(1, "mattermost", "z" * 26, "Here.", ""))


async def test_a_question_that_is_too_long_is_not_put(platform: MattermostPlatform) -> None:
    question = Question("shell", '{"command":"' + "x" * 20_000 + '"}', "it acts")
    with pytest.raises(MessageRefused, match="too long"):
        await platform.channel.ask(Address("mattermost", DM, ANNA), question)
    assert not platform.server.posts


@pytest.mark.parametrize(
    ("message", "is_called"),
    [
        ("@barnacle hello", True),
        ("hello @Barnacle.", True),
        ("(@barnacle)", True),
        ("@barnacles hello", False),
        ("@barnacle-two", False),
        ("@barnacle.two", False),
        ("x@barnacle", False),
        ("barnacle", False),
    ],
)
def test_a_name_calls_only_whom_it_is_of(message: str, *, is_called: bool) -> None:
    assert calls(post(message), "barnacle") is is_called


def test_the_call_is_no_part_of_the_message() -> None:
    assert understood(post("@barnacle, lamp on"), BOT, "O", "@anna", 1).text == "lamp on"


def test_an_answer_calls_nobody_and_shows_no_picture_from_elsewhere() -> None:
    assert not re.search("@(all|channel|here)", shown("@all @Channel @here ![x](http://y)"))
    assert "![" not in shown("![x](http://y)")


@given(st.text(alphabet="`\na ", max_size=60))
def test_what_is_shown_literally_ends_where_it_ends(text: str) -> None:
    fence, _, rest = literal(text).partition("\n")
    assert rest == f"{text}\n{fence}"
    assert fence not in text


async def test_a_position_is_of_one_account_and_asks_a_little_further_back(
    tmp_path: Path,
) -> None:
    position = MattermostCursor(tmp_path / "position.json")
    assert not await position.load("anna")
    await position.begin("anna", 1000)
    assert position.since_ms == 1000
    position.note("p", 1000 + 2 * OVERLAP_MS)
    await position.save()
    again = MattermostCursor(tmp_path / "position.json")
    assert await again.load("anna")
    assert again.since_ms == 1000 + OVERLAP_MS
    assert again.has_seen("p")
    assert not await MattermostCursor(tmp_path / "position.json").load("other")


async def test_a_spoiled_position_is_none(tmp_path: Path) -> None:
    (tmp_path / "position.json").write_bytes(b"\xff{")
    assert not await MattermostCursor(tmp_path / "position.json").load("anna")
