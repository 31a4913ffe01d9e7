import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.channels.base import Answer, Mark, Question
from agent.channels.settings import SlackSettings
from agent.channels.slack.socket_mode import MOST_BEGUN
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused
from agent.net.http import HttpClient
from tests.contracts.listener import answer, listening
from tests.fakes import slack_server
from tests.fakes.slack_platform import CALLED, SlackPlatform, channel_at
from tests.fakes.slack_server import Fault, SlackServer
from tests.fakes.slack_world import ANNA, BERT, DM, ME, ROOM, event_call
from tests.waits import stays, wait_until


@pytest.fixture
async def server() -> AsyncIterator[SlackServer]:
    async with slack_server.running() as made:
        yield made


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    made = HttpClient()
    yield made
    await made.aclose()


@pytest.fixture
def platform(server: SlackServer, http: HttpClient, tmp_path: Path) -> SlackPlatform:
    return SlackPlatform(server, http, tmp_path)


async def test_a_new_connection_is_open_before_the_old_one_goes(
    server: SlackServer, platform: SlackPlatform
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("before")
        await listener.first()
        [old] = server.open
        await server.disconnect("refresh_requested")
        # Said on the old one while the new one is opened
        old_line = server.world.lines[0]
        server.world.lines.append(old_line)
        await platform.write("between")
        await wait_until(lambda: server.begun == 2)
        assert old in server.open
        await wait_until(lambda: old not in server.open)
        await platform.write("after")
        await wait_until(lambda: listener.heard[-1].text == "after")
        assert [one.text for one in listener.heard] == ["before", "between", "after"]
        await wait_until(lambda: not server.world.waiting)


async def test_it_is_acknowledged_only_when_it_is_kept(
    server: SlackServer, platform: SlackPlatform
) -> None:
    async with listening(platform.channel) as listener:
        listener.may_keep.clear()
        await platform.write("hello")
        await wait_until(lambda: server.open)
        await stays(lambda: server.world.waiting, 0.05)
        listener.may_keep.set()
        await wait_until(lambda: not server.world.waiting)
        assert len(listener.heard) == 1


async def test_a_mention_that_comes_as_two_events_is_heard_once(
    server: SlackServer, platform: SlackPlatform
) -> None:
    async with listening(platform.channel) as listener:
        event = server.world.post(ROOM, ANNA, f"{CALLED} hello")
        twin = {**event, "type": "app_mention"}
        del twin["channel_type"]
        server.world.tell("events_api", event_call(twin))
        await platform.write("next")
        await wait_until(lambda: listener.heard and listener.heard[-1].text == "next")
        assert [one.text for one in listener.heard] == ["hello", "next"]


async def test_nothing_comes_of_an_edit_but_a_stop(
    server: SlackServer, platform: SlackPlatform
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("/stpo")
        for channel in (DM, ROOM):
            said = server.world.post(channel, ANNA, f"<@{ME}> hello")
            said = server.world.edit(said, f"<@{ME}> turn on the pump")
            odd = {**said, "subtype": "message_changed", "message": {"files": 7}}
            server.world.tell("events_api", event_call(odd))
            said = server.world.edit(said, "/stop")
            # As when a preview was added
            server.world.edit(said, "/stop")
        await platform.write("hello again")
        await wait_until(lambda: len(listener.heard) >= 6)
        heard = [(one.text, one.is_group) for one in listener.heard]
    private, public = [("hello", False), ("/stop", False)], [("hello", True), ("/stop", True)]
    assert heard == [("/stpo", False), *private, *public, ("hello again", False)]


async def test_socket_mode_that_was_switched_off_is_said_with_the_way_back(
    server: SlackServer, platform: SlackPlatform
) -> None:
    task = asyncio.ensure_future(platform.channel.listen(lambda _: asyncio.sleep(0)))
    await wait_until(lambda: server.world.lines)
    await server.disconnect("link_disabled")
    with pytest.raises(ChannelRefused, match="switch it on"):
        await task


@pytest.mark.parametrize(
    "strange",
    ["", "[]", "no json", '{"type": 3}', "\x00", '{"type":"events_api","payload":[1]}'],
)
async def test_what_is_not_as_documented_is_passed_over(
    strange: str, server: SlackServer, platform: SlackPlatform
) -> None:
    async with listening(platform.channel) as listener:
        await wait_until(lambda: server.open)
        await server.open[0].send(strange)
        await platform.write("hello")
        await listener.first()


async def test_a_question_is_not_answered_by_somebody_else(
    server: SlackServer, platform: SlackPlatform
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("lamp on", is_group=True)
        [heard] = await listener.first()
        question = Question("lamp", '{"pin":"<!here>"}', "it moves something", always="the lamp")
        asking = asyncio.ensure_future(platform.channel.ask(heard.address, question))
        await wait_until(platform.asked)
        [asked] = platform.asked()
        server.world.press(asked, "Yes", BERT)
        await wait_until(lambda: server.world.whispers)
        assert server.world.whispers[0]["user"] == BERT
        assert not asking.done()
        server.world.press(asked, "Always")
        assert await asking is Answer.ALWAYS
        await wait_until(lambda: not platform.asked())
        assert "Approved from now on." in json.dumps(server.world.mine())


async def test_marks_follow_one_another_and_one_that_stands_is_no_trouble(
    server: SlackServer, platform: SlackPlatform
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        await platform.channel.mark(heard, Mark.SEEN)
        await platform.channel.mark(heard, Mark.SEEN)
        await platform.channel.mark(heard, Mark.DONE)
        assert [name for _, _, name in server.world.reactions] == ["white_check_mark"]


async def test_an_answer_whose_draft_was_deleted_comes_as_a_message(
    server: SlackServer, platform: SlackPlatform
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        await platform.channel.draft(heard, "It")
        await wait_until(server.world.mine)
        [draft] = server.world.mine()
        del server.world.messages[DM, draft["ts"]]
        await platform.channel.send(answer(heard, "It is warm."))
        assert platform.shown(heard) == ["It is warm."]


async def test_the_token_goes_to_no_other_host(
    server: SlackServer, platform: SlackPlatform
) -> None:
    async with listening(platform.channel) as listener:
        file = server.world.keep(b"x") | {
            "url_private_download": "https://slack.com.evil.example/f"
        }
        server.world.post(DM, ANNA, "look", subtype="file_share", files=[file])
        [heard] = await listener.first()
        assert not heard.attachments
        assert "not on Slack's server" in heard.notes[0]


async def test_files_of_strangers_are_not_fetched(
    server: SlackServer, http: HttpClient, tmp_path: Path
) -> None:
    channel = channel_at(server, http, tmp_path, knows=lambda _: False)
    async with listening(channel) as listener:
        files = [server.world.keep(b"x")]
        server.world.post(DM, BERT, "look", subtype="file_share", files=files)
        [heard] = await listener.first()
        assert (heard.text, heard.notes) == (
            "look",
            ("I did not fetch a file: only of people with access I keep files.",),
        )


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("not_in_channel", MessageRefused, "/invite"),
        ("msg_too_long", MessageRefused, "too long"),
        ("invalid_auth", ChannelRefused, "channels.slack.token"),
        ("missing_scope", ChannelRefused, "chat:write"),
        ("internal_error", ChannelUnavailable, "now"),
        ("something_new", MessageRefused, "something_new"),
    ],
)
async def test_a_refusal_says_what_to_do(
    code: str, kind: type[Exception], words: str, server: SlackServer, platform: SlackPlatform
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        server.faults.append(Fault(r"chat\.postMessage", code=code, more={"needed": "chat:write"}))
        with pytest.raises(kind, match=words):
            await platform.channel.send(answer(heard, "Here."))


async def test_a_slash_command_is_heard_and_answered_where_it_was_typed(
    server: SlackServer, platform: SlackPlatform
) -> None:
    async with listening(platform.channel) as listener:
        typed = {"command": "/barnacle", "text": "status", "user_id": ANNA, "channel_id": DM}
        server.world.tell("slash_commands", {**typed, "trigger_id": "1.2"})
        [heard] = await listener.first()
        assert heard.text == "/status"
        await platform.channel.mark(heard, Mark.SEEN)
        await platform.channel.send(answer(heard, "All is well."))
        assert platform.shown(heard) == ["All is well."]
        assert not server.called("reactions.add")


async def test_where_groups_are_off_no_channel_is_heard(
    server: SlackServer, http: HttpClient, tmp_path: Path
) -> None:
    channel = channel_at(server, http, tmp_path, SlackSettings(groups="off"))
    async with listening(channel) as listener:
        server.world.post(ROOM, ANNA, f"{CALLED} hello")
        typed = {"command": "/barnacle", "text": "stop", "user_id": ANNA, "channel_id": ROOM}
        server.world.tell("slash_commands", typed)
        server.world.post(DM, ANNA, "in private")
        [heard] = await listener.first()
        assert heard.text == "in private"


async def test_it_does_not_answer_itself(platform: SlackPlatform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        await platform.channel.send(answer(heard, f"You said <@{ME}> hello."))
        await platform.write("next")
        await wait_until(lambda: listener.heard[-1].text == "next")
        assert len(listener.heard) == 2


async def test_who_is_not_greeted_begins_again(
    server: SlackServer, platform: SlackPlatform
) -> None:
    server.greets = False
    server.world.post(DM, ANNA, "hello")
    with pytest.raises(ChannelUnavailable, match="hello"):
        await platform.channel.listen(lambda _: asyncio.sleep(0))
    await platform.channel.aclose()


async def test_connections_that_always_end_at_once_are_not_opened_for_ever(
    server: SlackServer, platform: SlackPlatform
) -> None:
    task = asyncio.ensure_future(platform.channel.listen(lambda _: asyncio.sleep(0)))
    for number in range(1, MOST_BEGUN + 1):
        await wait_until(lambda number=number: server.begun == number and len(server.open) == 1)
        await wait_until(lambda: server.world.lines)
        await server.disconnect("too_many_websockets")
    with pytest.raises(ChannelUnavailable, match="every connection"):
        await task
    assert server.begun == MOST_BEGUN


async def test_what_stops_the_agent_does_not_wait_for_a_file(
    server: SlackServer, platform: SlackPlatform
) -> None:
    server.may_hand_out.clear()
    async with listening(platform.channel) as listener:
        await platform.write("lamp on")
        [heard] = await listener.first()
        question = Question("lamp", '{"pin":"led"}', "it moves something")
        asking = asyncio.ensure_future(platform.channel.ask(heard.address, question))
        await wait_until(platform.asked)
        await platform.write_with_file("look", b"%PDF")
        await platform.write("and then")
        await platform.write(" /stop")
        typed = {"command": "/barnacle", "text": "estop", "user_id": ANNA, "channel_id": DM}
        server.world.tell("slash_commands", typed)
        server.world.press(platform.asked()[0], "Yes")
        await listener.first(3)
        assert [one.text for one in listener.heard[1:]] == ["/stop", "/estop"]
        assert await asking is Answer.YES
        # Those are acknowledged, and what has to wait is not
        await wait_until(lambda: len(server.world.waiting) == 2)
        server.may_hand_out.set()
        heard_last = (await listener.first(5))[3:]
        assert [one.text for one in heard_last] == ["look", "and then"]
        assert len(heard_last[0].attachments) == 1
        await wait_until(lambda: not server.world.waiting)
        assert not server.world.whispers


async def test_a_connection_that_ends_while_a_file_is_fetched_costs_nothing(
    server: SlackServer, platform: SlackPlatform
) -> None:
    server.may_hand_out.clear()
    async with listening(platform.channel) as listener:
        await platform.write_with_file("look", b"%PDF")
        await wait_until(lambda: server.waiting_for_files)
        await server.disconnect("refresh_requested")
        await platform.write("after")
        await platform.write("/stop")
        await listener.first()
        server.cut()
        server.may_hand_out.set()
        await wait_until(lambda: not server.world.waiting)
        assert [one.text for one in listener.heard] == ["/stop", "look", "after"]
