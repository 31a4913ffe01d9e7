import pytest
from msgspec.structs import replace

from agent.channels.base import Mark
from agent.channels.xmpp import connection, send
from agent.channels.xmpp.receive import CANNOT_READ
from agent.errors import ChannelUnavailable, MessageRefused
from agent.messages import Outbound
from tests.contracts.listener import answer
from tests.contracts.listener import listening as at_work
from tests.fakes.prosody import HOST
from tests.fakes.xmpp_platform import XmppPlatform
from tests.waits import wait_until

_RECEIPT = "{urn:xmpp:receipts}received"
_CORRECTION = "{urn:xmpp:message-correct:0}replace"
_ASKS = "<request xmlns='urn:xmpp:receipts'/>"


def told(to: str, text: str, number: int = 1) -> Outbound:
    return Outbound(number, "xmpp", to, text, "")


async def test_nothing_that_was_said_before_the_first_start_is_answered(
    platform: XmppPlatform,
) -> None:
    platform.anna.say(platform.address, "long ago")
    async with at_work(platform.channel) as listener:
        await platform.write("now")
        assert [one.text for one in await listener.first()] == ["now"]


async def test_a_draft_becomes_the_answer(
    platform: XmppPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send.XmppDrafts, "first_s", 0.0)
    monkeypatch.setattr(send, "INTERVAL_S", 0.01)
    async with at_work(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        for text in ("It", "It is", "It is warm"):
            await platform.channel.draft(heard, text)
            await wait_until(lambda text=text: platform.shown(heard) == [text])
        await platform.channel.send(answer(heard, "It is **warm**."))
        await wait_until(lambda: platform.shown(heard) == ["It is warm."])
        assert platform.anna.count(platform.address, _CORRECTION) == 3


async def test_only_what_a_draft_became_is_kept(
    platform: XmppPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send.XmppDrafts, "first_s", 0.0)
    async with at_work(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        await platform.channel.draft(heard, "It")
        await wait_until(lambda: platform.shown(heard) == ["It"])
        await platform.channel.send(answer(heard, "It is warm."))
    assert await platform.anna.archived() == ["hello", "It is warm."]


async def test_a_draft_that_a_restart_left_becomes_the_answer(
    platform: XmppPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send.XmppDrafts, "first_s", 0.0)
    async with at_work(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        await platform.channel.draft(heard, "It is")
        await wait_until(lambda: platform.shown(heard) == ["It is"])
    for _ in range(2):
        again = platform.restarted()
        async with at_work(again):
            await wait_until(lambda again=again: again._sending.connection)
            # The second time, that it was sent was never written down
            await again.send(answer(heard, "It is warm."))
            await wait_until(lambda: platform.shown(heard) == ["It is warm."])


async def test_a_receipt_says_that_it_was_kept(platform: XmppPlatform) -> None:
    async with at_work(platform.channel) as listener:
        await platform.write("first")
        await listener.first()
        listener.may_keep.clear()
        platform.anna.say(platform.address, "hello", _ASKS, known="m7")
        await platform.anna.ping(platform.address)
        assert platform.anna.count(platform.address, _RECEIPT) == 0
        listener.may_keep.set()
        await wait_until(lambda: platform.anna.count(platform.address, _RECEIPT))
        [receipt] = [one for one in platform.anna.messages if one.find(_RECEIPT) is not None]
        assert receipt.find(_RECEIPT).get("id") == "m7"


async def test_a_stranger_hears_no_receipt(platform: XmppPlatform) -> None:
    platform.knows = lambda _: False
    platform.channel = platform.restarted()
    async with at_work(platform.channel) as listener:
        await platform.write("first")
        platform.anna.say(platform.address, "hello", _ASKS)
        heard = await listener.first(2)
        await platform.channel.send(answer(heard[1], "Who are you?"))
        await wait_until(lambda: platform.shown(heard[1]))
        assert platform.anna.count(platform.address, _RECEIPT) == 0


async def test_an_answer_whose_receipt_was_lost_is_not_said_twice(
    platform: XmppPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_work(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        monkeypatch.setattr(connection, "CONFIRM_TIMEOUT_S", 0.0)
        with pytest.raises(ChannelUnavailable):
            await platform.channel.send(answer(heard, "Here."))
        monkeypatch.undo()
        await platform.channel.send(answer(heard, "Here."))
        await platform.channel.send(answer(heard, "And there.", 2))
        await wait_until(lambda: len(platform.shown(heard)) >= 2)
        assert platform.shown(heard) == ["Here.", "And there."]


async def test_an_answer_that_the_last_run_sent_is_not_said_twice(platform: XmppPlatform) -> None:
    async with at_work(platform.channel) as listener:
        await platform.write("hello")
        await platform.write("hello", is_group=True)
        heard = await listener.first(2)
        for one in heard:
            await platform.channel.send(answer(one, "Here."))
    again = platform.restarted()
    async with at_work(again):
        await wait_until(lambda: again._sending.connection)
        for one in heard:
            await again.send(answer(one, "Here."))
            await again.send(answer(one, "And there.", 2))
            await wait_until(lambda one=one: len(platform.shown(one)) >= 2)
            assert platform.shown(one) == ["Here.", "And there."]


async def test_nobody_of_that_name_is_a_refusal(platform: XmppPlatform) -> None:
    async with at_work(platform.channel) as listener:
        await platform.write("hello")
        await listener.first()
        with pytest.raises(MessageRefused, match="service-unavailable"):
            await platform.channel.send(told(f"nobody@{HOST}", "hello"))
        with pytest.raises(MessageRefused, match="@@ does not take it"):
            await platform.channel.send(told("@@", "hello"))


async def test_without_a_connection_nothing_is_sent(platform: XmppPlatform) -> None:
    with pytest.raises(ChannelUnavailable, match="not connected"):
        await platform.channel.send(told(platform.anna.address, "hello"))


async def test_words_that_xml_cannot_hold_are_said_without_them(platform: XmppPlatform) -> None:
    async with at_work(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        await platform.channel.send(answer(heard, "a\x0bb <c> & \ud800d"))
        await wait_until(lambda: platform.shown(heard))
        assert platform.shown(heard) == ["ab <c> & d"]


async def test_a_correction_of_a_person_is_not_answered_again(platform: XmppPlatform) -> None:
    async with at_work(platform.channel) as listener:
        await platform.write("one")
        replaced = "<replace xmlns='urn:xmpp:message-correct:0' id='m0'/>"
        platform.anna.say(platform.address, "one!", replaced)
        await platform.write("two")
        assert [one.text for one in await listener.first(2)] == ["one", "two"]


async def test_encrypted_words_are_said_to_be_unreadable_once(platform: XmppPlatform) -> None:
    encrypted = "<encrypted xmlns='eu.siacs.conversations.axolotl'/>"
    async with at_work(platform.channel) as listener:
        await platform.write("one")
        for _ in range(2):
            platform.anna.say(platform.address, "I sent you an OMEMO message", encrypted)
        await platform.write("two")
        heard = await listener.first(2)
        assert [one.text for one in heard] == ["one", "two"]
        await wait_until(lambda: platform.shown(heard[0]))
        assert platform.shown(heard[0]) == [CANNOT_READ]


async def test_who_is_known_may_see_that_it_is_there(platform: XmppPlatform) -> None:
    async with at_work(platform.channel):
        await platform.write("hello")
        platform.anna.client.send_presence_subscription(pto=platform.address)
        await wait_until(lambda: platform.anna.sees_somebody(platform.address))


async def test_who_becomes_known_may_see_it_from_then_on(platform: XmppPlatform) -> None:
    known: set[str] = set()
    platform.knows = lambda inbound: inbound.sender in known
    platform.channel = platform.restarted()
    async with at_work(platform.channel) as listener:
        await platform.write("/pair CODE")
        platform.anna.client.send_presence_subscription(pto=platform.address)
        await wait_until(lambda: platform.channel._listening._pending)
        assert not platform.anna.sees_somebody(platform.address)
        known.add(platform.anna.address)
        await platform.write("hello")
        await listener.first(2)
        await wait_until(lambda: platform.anna.sees_somebody(platform.address))


async def test_signs_are_about_what_others_call_the_message(platform: XmppPlatform) -> None:
    async with at_work(platform.channel) as listener:
        await platform.write("in private")
        await platform.write("in the room", is_group=True)
        private, room = await listener.first(2)
        for heard in (private, room):
            await platform.channel.mark(heard, Mark.SEEN)
            await platform.channel.mark(heard, Mark.DONE)
        await wait_until(lambda: len(platform.signs()) >= 4)
        seen, done = platform.signs()[:2]
        assert (seen, done) == ((platform.said[0], "👀"), (platform.said[0], "👍"))
        # There the room itself names what is said
        assert {known for known, _ in platform.signs()[2:]} == {room.message_id.partition(" ")[0]}


async def test_files_come_and_go_with_their_words(platform: XmppPlatform) -> None:
    async with at_work(platform.channel) as listener:
        await platform.write_with_file("", b"%PDF-1.7 of a datasheet")
        [heard] = await listener.first()
        assert heard.text == ""
        gone = replace(heard.attachments[0], path="/nowhere", name="gone.pdf")
        await platform.channel.send(replace(answer(heard, "Here."), files=(gone,)))
        await wait_until(lambda: len(platform.shown(heard)) >= 2)
        assert "gone.pdf" in platform.shown(heard)[1]
        await platform.channel.mark(heard, Mark.DONE)
