import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from xml.etree.ElementTree import SubElement

import pytest

from agent.channels.xmpp import receive
from agent.channels.xmpp.channel import XmppChannel
from agent.errors import ChannelUnavailable
from agent.messages import Outbound
from tests.contracts.listener import answer
from tests.contracts.listener import listening as at_work
from tests.fakes import prosody, xmpp_conversation
from tests.fakes.prosody import ROOMS
from tests.fakes.xmpp_person import present
from tests.fakes.xmpp_platform import XmppPlatform, new_room
from tests.waits import wait_until

_ADMIN = "{http://jabber.org/protocol/muc#admin}"


@contextlib.asynccontextmanager
async def hiding(folder: Path) -> AsyncIterator[XmppPlatform]:
    """On a server whose rooms do not tell who is in them."""
    with prosody.running(folder / "prosody", is_open=False) as server:
        async with xmpp_conversation.platform(folder, server) as (platform, _):
            yield platform


async def put_out(platform: XmppPlatform, nick: str) -> None:
    """By Anna, whose room it is."""
    wish = platform.anna.client.make_iq_set(ito=platform.room)
    query = SubElement(wish.xml, f"{_ADMIN}query")
    SubElement(query, f"{_ADMIN}item", {"nick": nick, "role": "none"})
    await wish.send(timeout=5)


async def test_who_is_known_in_private_is_known_in_rooms_of_the_same_server(
    platform: XmppPlatform,
) -> None:
    async with at_work(platform.channel) as listener:
        await platform.write("in private")
        await platform.write("in the room", is_group=True)
        private, room = await listener.first(2)
        assert private.sender == room.sender == platform.anna.address
        assert (room.sender_name, room.reply_target) == ("anna", platform.room)


async def test_where_a_room_hides_who_they_are_each_has_a_name_of_that_room(
    tmp_path: Path,
) -> None:
    async with hiding(tmp_path) as platform, at_work(platform.channel) as listener:
        async with present(platform.server, "bert", platform.room) as bert:
            await platform.write("one", is_group=True)
            await wait_until(lambda: bert.sees(f"{platform.room}/{platform.nick}"))
            bert.say(platform.room, f"{platform.nick}: two")
            senders = {one.text: one.sender for one in await listener.first(2)}
        anna, other = senders["one"], senders["two"]
        assert anna != other
        assert anna.startswith(f"{platform.room}/")
        # The same when she calls herself otherwise
        platform.anna.name = "anne"
        await platform.anna.go_in(platform.room)
        platform.anna.say(platform.room, f"{platform.nick}: three")
        heard = (await listener.first(3))[2]
        assert (heard.sender, heard.sender_name) == (anna, "anne")


async def test_what_is_whispered_in_a_room_is_not_heard(platform: XmppPlatform) -> None:
    async with at_work(platform.channel) as listener:
        await platform.write("one")
        aside = "<x xmlns='http://jabber.org/protocol/muc#user'/>"
        platform.anna.say(f"{platform.room}/{platform.nick}", "psst", aside)
        await platform.write("two")
        assert [one.text for one in await listener.first(2)] == ["one", "two"]


async def test_an_answer_to_its_words_needs_no_name(platform: XmppPlatform) -> None:
    async with at_work(platform.channel) as listener:
        await platform.write("hello", is_group=True)
        [heard] = await listener.first()
        await platform.channel.send(answer(heard, "Here."))
        us = f"{platform.room}/{platform.nick}"
        await wait_until(lambda: platform.anna.told(us))
        platform.anna.say(platform.room, "and now?", f"<reply xmlns='urn:xmpp:reply:0' to='{us}'/>")
        assert (await listener.first(2))[1].text == "and now?"


async def test_it_comes_back_when_it_was_put_out(
    platform: XmppPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receive, "PING_EVERY_S", 0.05)
    us = f"{platform.room}/{platform.nick}"
    async with at_work(platform.channel) as listener:
        await platform.write("one", is_group=True)
        await listener.first()
        await put_out(platform, platform.nick)
        await wait_until(lambda: platform.anna.went(us))
        await wait_until(lambda: platform.anna.sees(us))
        platform.anna.say(platform.room, f"{platform.nick}: two")
        assert (await listener.first(2))[1].text == "two"


async def test_where_it_is_not_its_words_wait(platform: XmppPlatform) -> None:
    async with at_work(platform.channel) as listener:
        await platform.write("one", is_group=True)
        await listener.first()
        await put_out(platform, platform.nick)
        # The server tells each in the room in turn
        await wait_until(lambda: not is_in(platform.channel, platform.room))
        with pytest.raises(ChannelUnavailable, match="not in the room lab-"):
            await platform.channel.send(Outbound(1, "xmpp", platform.room, "Here.", ""))


async def test_a_name_that_somebody_has_is_made_longer(platform: XmppPlatform) -> None:
    async with present(prosody.shared(), platform.nick, platform.room), at_work(platform.channel):
        await wait_until(lambda: platform.anna.sees(f"{platform.room}/{platform.nick}_"))
        assert platform.room.endswith(ROOMS)


async def test_a_room_that_lets_nobody_in_is_told_and_a_new_one_is_opened(tmp_path: Path) -> None:
    with prosody.running(tmp_path / "prosody", is_locking=True) as server:
        # Anna has made the room by entering it, and never configures it
        async with xmpp_conversation.platform(tmp_path, server) as (platform, _):
            channel = platform.channel
            async with at_work(channel):
                await wait_until(lambda: channel.gap)
                assert channel.gap == (
                    f"cannot join {platform.room} (item-not-found): check channels.xmpp.rooms"
                )
            platform.room = new_room()
            channel = platform.restarted()
            async with at_work(channel):
                await wait_until(lambda: is_in(channel, platform.room))
                async with present(server, "bert", platform.room) as bert:
                    await wait_until(lambda: bert.sees(f"{platform.room}/{platform.nick}"))
                assert channel.gap == ""


def is_in(channel: XmppChannel, room: str) -> bool:
    rooms = channel._sending.rooms
    return rooms is not None and rooms.is_in(room)
