import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.channels.opcodes.gateway import MOST_FRUITLESS
from agent.channels.settings import DiscordSettings
from agent.errors import ChannelRefused, ChannelUnavailable
from agent.net.http import HttpClient
from tests.contracts.listener import Listener, listening
from tests.fakes import discord_server
from tests.fakes.discord_platform import channel_at
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import ANNA, BEN, BOT, DM, ROOM
from tests.waits import wait_until

IDENTIFY, RESUME = 2, 6


@pytest.fixture
async def server() -> AsyncIterator[DiscordServer]:
    async with discord_server.running() as made:
        yield made


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.aclose()


async def begun(server: DiscordServer) -> None:
    await wait_until(lambda: server.world.sessions)


async def known(folder: Path) -> None:
    """The session is on the disk."""
    await wait_until((folder / "discord" / "session.json").exists)


async def heard(listener: Listener, text: str) -> None:
    await wait_until(lambda: text in [one.text for one in listener.heard])


async def test_it_introduces_itself_with_what_it_needs_and_no_more(
    server: DiscordServer, http: HttpClient, tmp_path: Path
) -> None:
    server.world.allows_content = False
    async with listening(channel_at(server, http, tmp_path)):
        await begun(server)
    [told] = server.heard(IDENTIFY)
    assert told["d"]["intents"] == (1 << 0) | (1 << 9) | (1 << 12)


async def test_a_stop_needs_no_name_where_the_bot_may_read_every_message(
    server: DiscordServer, http: HttpClient, tmp_path: Path
) -> None:
    async with listening(channel_at(server, http, tmp_path)) as listener:
        await begun(server)
        for text in ("hello", f"<@{BEN['id']}> /stop", "/stop now", "/stop", "/estop"):
            server.world.post(ROOM, ANNA, text)
        await listener.first(2)
        assert [one.text for one in listener.heard] == ["/stop", "/estop"]


async def test_nothing_comes_of_an_edit_but_a_stop(
    server: DiscordServer, http: HttpClient, tmp_path: Path
) -> None:
    async with listening(channel_at(server, http, tmp_path)) as listener:
        await begun(server)
        for channel in (DM, ROOM):
            said = server.world.post(channel, ANNA, "/stpo" if channel == DM else "hello")
            server.world.edit(said, "turn on the pump")
            # As when a preview was added
            server.world.dispatch("MESSAGE_UPDATE", {**said, "edited_timestamp": None})
            server.world.edit(said, "/stop")
            server.world.dispatch("MESSAGE_UPDATE", said)
        server.world.post(DM, ANNA, "hello again")
        await heard(listener, "hello again")
        found = list(dict.fromkeys((one.message_id, one.text) for one in listener.heard))
        assert [text for _, text in found] == ["/stpo", "/stop", "/stop", "hello again"]


async def test_a_bot_that_may_read_no_more_hears_on_who_calls_it(
    server: DiscordServer, http: HttpClient, tmp_path: Path
) -> None:
    channel = channel_at(server, http, tmp_path)
    async with listening(channel):
        await known(tmp_path)
    # Switched off meanwhile, whatever the application still says of itself
    server.closes_with = 4014
    with pytest.raises(ChannelUnavailable):
        await channel.listen(Listener().deliver)
    async with listening(channel) as listener:
        await wait_until(lambda: len(server.heard(IDENTIFY)) == 2)
        server.world.post(ROOM, ANNA, f"<@{BOT['id']}> hello")
        await heard(listener, "hello")
    assert server.heard(IDENTIFY)[-1]["d"]["intents"] == (1 << 0) | (1 << 9) | (1 << 12)


@pytest.mark.parametrize("groups", ["all", "off"])
async def test_what_is_no_choice_is_not_asked_about(
    groups: Any, server: DiscordServer, http: HttpClient, tmp_path: Path
) -> None:
    async with listening(channel_at(server, http, tmp_path, DiscordSettings(groups=groups))):
        await begun(server)
    assert not server.called("GET", "/applications/@me")
    [told] = server.heard(IDENTIFY)
    assert bool(told["d"]["intents"] & (1 << 15)) is (groups == "all")


async def test_whoever_wants_to_hear_everybody_asks_for_it(
    server: DiscordServer, http: HttpClient, tmp_path: Path
) -> None:
    wanted = DiscordSettings(groups="all")
    async with listening(channel_at(server, http, tmp_path, wanted)) as listener:
        await begun(server)
        server.world.post(ROOM, ANNA, "to nobody")
        await heard(listener, "to nobody")
    assert server.heard(IDENTIFY)[0]["d"]["intents"] & (1 << 15)


async def test_another_process_goes_on_where_this_one_was(
    server: DiscordServer, http: HttpClient, tmp_path: Path
) -> None:
    async with listening(channel_at(server, http, tmp_path)) as listener:
        await begun(server)
        server.world.post(DM, ANNA, "one")
        await heard(listener, "one")
    assert server.closed_with == [4000]
    server.world.post(DM, ANNA, "two")
    server.world.post(DM, ANNA, "three")
    async with listening(channel_at(server, http, tmp_path)) as listener:
        await heard(listener, "three")
        assert [one.text for one in listener.heard] == ["two", "three"]
    assert len(server.heard(IDENTIFY)) == 1


async def test_a_session_of_another_bot_or_with_other_ears_is_not_taken_up(
    server: DiscordServer, http: HttpClient, tmp_path: Path
) -> None:
    kept = tmp_path / "discord" / "session.json"
    async with listening(channel_at(server, http, tmp_path)):
        await wait_until(lambda: kept.exists() and json.loads(kept.read_text())["seq"])
    wanted = DiscordSettings(groups="all")
    async with listening(channel_at(server, http, tmp_path, wanted)):
        await wait_until(lambda: len(server.heard(IDENTIFY)) == 2)
    assert not server.heard(RESUME)


@pytest.mark.parametrize(
    ("code", "clue"),
    [
        (4004, "check the token"),
        (4010, "update"),
        (4011, "more servers"),
        (4012, "update"),
        (4013, "update"),
        (4014, "Message Content Intent"),
    ],
)
async def test_an_end_for_good_says_what_to_do(
    code: int, clue: str, server: DiscordServer, http: HttpClient, tmp_path: Path
) -> None:
    server.closes_with = code
    channel = channel_at(server, http, tmp_path, DiscordSettings(groups="all"))
    with pytest.raises(ChannelRefused, match=clue):
        await channel.listen(Listener().deliver)


@pytest.mark.parametrize("code", [4000, 4008, 1001, 1011])
async def test_any_other_end_is_for_now(
    code: int, server: DiscordServer, http: HttpClient, tmp_path: Path
) -> None:
    server.closes_with = code
    with pytest.raises(ChannelUnavailable):
        await channel_at(server, http, tmp_path).listen(Listener().deliver)


async def test_a_session_that_is_too_old_is_begun_anew(
    server: DiscordServer, http: HttpClient, tmp_path: Path
) -> None:
    async with listening(channel_at(server, http, tmp_path)):
        await begun(server)
        await wait_until(lambda: server.heard(IDENTIFY))
        server.closes_with = 4009
        server.cut()
        await wait_until(lambda: len(server.heard(IDENTIFY)) == 2)


async def test_a_bot_that_may_begin_no_more_sessions_waits(
    server: DiscordServer, http: HttpClient, tmp_path: Path
) -> None:
    server.rest.starts_left = 0
    with pytest.raises(ChannelUnavailable) as caught:
        await channel_at(server, http, tmp_path).listen(Listener().deliver)
    assert caught.value.retry_after_s == 14_400


async def test_what_is_not_as_documented_holds_up_nobody(
    server: DiscordServer, http: HttpClient, tmp_path: Path
) -> None:
    async with listening(channel_at(server, http, tmp_path)) as listener:
        await begun(server)
        [session] = server.world.sessions.values()
        session.dispatch("MESSAGE_CREATE", {"id": 7, "mentions": "none", "author": {}})
        session.dispatch("INTERACTION_CREATE", {"id": []})
        session.dispatch("NOBODY_KNOWS", {})
        server.world.post(DM, BEN, "hello")
        await heard(listener, "hello")
    assert len(server.heard(RESUME)) == 0


async def test_a_server_with_very_many_channels_makes_nobody_deaf(
    server: DiscordServer, http: HttpClient, tmp_path: Path
) -> None:
    async with listening(channel_at(server, http, tmp_path)) as listener:
        await begun(server)
        [session] = server.world.sessions.values()
        session.dispatch("GUILD_CREATE", {"id": "1", "channels": ["x" * 5 * 1024 * 1024]})
        server.world.post(DM, BEN, "hello")
        await heard(listener, "hello")
    assert len(server.heard(RESUME)) == 0


async def test_a_session_is_kept_over_cuts_until_it_is_said_to_be_gone(
    server: DiscordServer, http: HttpClient, tmp_path: Path
) -> None:
    async with listening(channel_at(server, http, tmp_path)) as listener:
        await known(tmp_path)
        server.closes_always_with = 4000
        server.cut()
        server.world.post(DM, ANNA, "meanwhile")
        await wait_until(lambda: len(server.heard(RESUME)) > MOST_FRUITLESS + 1)
        server.closes_always_with = 0
        await heard(listener, "meanwhile")
    assert len(server.heard(IDENTIFY)) == 1


async def test_a_session_is_taken_up_at_its_own_place_without_asking_for_another(
    server: DiscordServer, http: HttpClient, tmp_path: Path
) -> None:
    async with listening(channel_at(server, http, tmp_path)) as listener:
        await known(tmp_path)
        server.cut()
        server.world.post(DM, ANNA, "again")
        await heard(listener, "again")
    assert len(server.called("GET", "/gateway/bot")) == 1


@pytest.mark.parametrize("place", ["ws://127.0.0.1:1", "http://a", ""])
async def test_a_session_whose_place_is_gone_is_taken_up_at_the_usual_one(
    place: str, server: DiscordServer, http: HttpClient, tmp_path: Path
) -> None:
    async with listening(channel_at(server, http, tmp_path)):
        await known(tmp_path)
    kept = tmp_path / "discord" / "session.json"
    # What commands belong to was once kept here, too
    older = {**json.loads(kept.read_text()), "url": place, "application": "7"}
    kept.write_text(json.dumps(older))
    server.world.post(DM, ANNA, "meanwhile")
    async with listening(channel_at(server, http, tmp_path)) as listener:
        await heard(listener, "meanwhile")
    assert (len(server.heard(IDENTIFY)), len(server.heard(RESUME))) == (1, 1)
    assert len(server.called("GET", "/gateway/bot")) == 2
