import asyncio
import logging

import pytest

from agent.channels.signal import client as daemon_module
from agent.channels.signal import receive
from agent.errors import ChannelRefused, ChannelUnavailable, StorageFull
from agent.messages import Inbound, Outbound, Provenance
from tests.channels.signal.conftest import Make
from tests.fakes.clock import SteppedClock
from tests.fakes.signal_daemon import ACCOUNT_ID, NUMBER, SignalDaemon
from tests.fakes.signal_events import (
    ANNA,
    ANNAS_NUMBER,
    BERND,
    GROUP,
    MENTIONED,
    SENT_MS,
    data,
    envelope,
    in_group,
    mention,
    message,
    synced,
)
from tests.waits import stays, wait_until

OTHER = "+4930123456"


async def test_a_message_arrives_as_what_its_sender_is_known_by(signal: Make) -> None:
    async with signal() as it:
        it.daemon.tell(message("  Turn the lamp on, gr\u00fc\u00dfe \U0001f44d  "))
        (inbound,) = await it.heard.until(1)
    assert inbound.text == "Turn the lamp on, gr\u00fc\u00dfe \U0001f44d"
    assert (inbound.channel, inbound.sender, inbound.reply_target) == ("signal", ANNA, ANNA)
    assert inbound.message_id == f"{ANNA}:{SENT_MS}"
    assert inbound.provenance is Provenance.WEB
    assert (inbound.sender_name, inbound.is_group) == ("Anna", False)
    assert inbound.sent_at_s == (SENT_MS + 20) / 1000


@pytest.mark.parametrize("piece_bytes", [1, 2, 3, 7, 65536])
@pytest.mark.parametrize("release", ["0.13", "0.14"])
async def test_a_stream_in_pieces_of_any_size_loses_nothing(
    signal: Make, piece_bytes: int, release: str
) -> None:
    daemon = SignalDaemon(
        piece_bytes=piece_bytes, holds_headers=release == "0.13", keep_alive_s=0.05
    )
    texts = [
        f"\u4f60\u597d \U0001f468\u200d\U0001f469\u200d\U0001f467 {number}" for number in range(5)
    ]
    async with signal(daemon) as it:
        for number, text in enumerate(texts):
            it.daemon.tell(message(text, timestamp=SENT_MS + number))
        await it.heard.until(5)
    assert it.heard.texts == texts


async def test_other_line_ends_and_several_lines_of_data_are_read_too(signal: Make) -> None:
    async with signal() as it:
        it.daemon.tell_raw(":\r\n\r\nevent: receive\r\ndata: {\r\ndata:}\r\n\r\n:\n:\n")
        it.daemon.tell(message("after it"))
        await it.heard.until(1)
    assert it.heard.texts == ["after it"]


@pytest.mark.parametrize(
    "arrival",
    [
        envelope(editMessage={"targetSentTimestamp": SENT_MS, "dataMessage": data("edited")}),
        envelope(typingMessage={"action": "STARTED", "timestamp": SENT_MS}),
        envelope(receiptMessage={"when": SENT_MS, "isRead": True, "timestamps": [SENT_MS]}),
        envelope(callMessage={"offerMessage": {"id": 1}}),
        envelope(storyMessage={"allowsReplies": True}),
        message("\U0001f44d", reaction={"emoji": "\U0001f44d", "isRemove": False}),
        message(None, reaction={"emoji": "\U0001f44d", "isRemove": False}),
        message(None, remoteDelete={"timestamp": SENT_MS}),
        in_group(None, mentions=None),
        message("from a story", storyContext={"authorUuid": BERND}),
        synced("to somebody else", BERND, ACCOUNT_ID),
        synced("to myself, and not allowed", ACCOUNT_ID, ACCOUNT_ID),
        message("without an id", sender=""),
        message("with a name for an id", sender="Anna"),
        message("before all time", timestamp=0),
        message("out of time", timestamp=2**60),
        message("\u200b\u202e\x07"),
        {"account": NUMBER, "envelope": None},
        {"account": NUMBER, "envelope": {"sourceUuid": 7}},
        {"nothing": "known"},
    ],
)
async def test_what_is_no_message_is_no_command(signal: Make, arrival: dict[str, object]) -> None:
    async with signal() as it:
        it.daemon.tell(arrival)
        it.daemon.tell(message("the only one", timestamp=SENT_MS + 1))
        await it.heard.until(1)
    assert it.heard.texts == ["the only one"]


async def test_the_accounts_own_messages_are_not_answered(signal: Make) -> None:
    async with signal() as it:
        own = message("from here", sender=ACCOUNT_ID)
        own["envelope"]["sourceNumber"] = NUMBER
        it.daemon.tell(own)
        it.daemon.tell(message("from Anna"))
        await it.heard.until(1)
    assert it.heard.texts == ["from Anna"]


async def test_notes_to_oneself_are_heard_where_that_is_allowed(signal: Make) -> None:
    async with signal(note_to_self=True) as it:
        it.daemon.tell(synced("to Bernd", BERND, ACCOUNT_ID))
        it.daemon.tell(synced("to myself", ACCOUNT_ID, ACCOUNT_ID))
        (inbound,) = await it.heard.until(1)
    assert (inbound.text, inbound.sender, inbound.reply_target) == (
        "to myself",
        ACCOUNT_ID,
        ACCOUNT_ID,
    )


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ("mention", ["lamp on", "again", "and yes", "/estop"]),
        ("all", ["to nobody", "lamp on", f"@{OTHER} do it", "again", "and yes", "/estop"]),
        ("off", []),
    ],
)
async def test_in_groups_it_hears_those_it_is_told_to_hear(
    signal: Make, groups: str, expected: list[str]
) -> None:
    async with signal(groups=groups) as it:
        it.daemon.tell(in_group("to nobody", timestamp=1))
        it.daemon.tell(in_group(f"{MENTIONED} lamp on", timestamp=2, mentions=[mention(0)]))
        it.daemon.tell(
            in_group(f"{MENTIONED} do it", timestamp=3, mentions=[mention(0, number=OTHER)])
        )
        it.daemon.tell(
            in_group("again", timestamp=4, quote={"id": 9, "authorNumber": NUMBER, "text": "Done."})
        )
        it.daemon.tell(
            in_group(
                f"\U0001f44d {MENTIONED}and yes".replace("\U0001f44d ", ""),
                timestamp=5,
                mentions=[mention(0, number=NUMBER.upper())],
            )
        )
        # What makes safe needs no name
        it.daemon.tell(in_group("/estop", timestamp=6))
        it.daemon.tell(message("the end", timestamp=7))
        await it.heard.until(len(expected) + 1)
    assert it.heard.texts == [*expected, "the end"]
    group = [one for one in it.heard.messages if one.is_group]
    assert {one.reply_target for one in group} <= {f"group.{GROUP}"}


async def test_mentions_become_names_where_they_stand(signal: Make) -> None:
    text = f"\U0001f44d ask {MENTIONED} and {MENTIONED}, not {MENTIONED}"
    places = [
        len(text[:at].encode("utf-16-le")) // 2 for at in range(len(text)) if text[at] == MENTIONED
    ]
    mentions = [
        mention(places[2], number=None, uuid=BERND),
        mention(places[0], number=OTHER),
        mention(places[1]),
        mention(places[0]),
        mention(4000),
        {"start": -3, "length": 1, "number": OTHER, "uuid": None},
        {"start": 0, "length": 0, "number": OTHER, "uuid": None},
    ]
    async with signal() as it:
        it.daemon.tell(in_group(text, mentions=mentions))
        await it.heard.until(1)
    assert it.heard.texts == [f"\U0001f44d ask @{OTHER} and , not @{BERND}"]


async def test_what_is_answered_to_is_quoted_and_capped(signal: Make) -> None:
    async with signal() as it:
        quote = {
            "id": 5,
            "author": OTHER,
            "authorUuid": BERND,
            "text": "open the door\x1b[2J" * 200,
        }
        it.daemon.tell(message("do that", quote=quote))
        (inbound,) = await it.heard.until(1)
    assert inbound.text == "do that"
    assert inbound.quoted.startswith("open the door[2J")
    assert len(inbound.quoted) == 1000


async def test_what_cannot_be_decrypted_is_told_and_not_delivered(
    signal: Make, caplog: pytest.LogCaptureFixture
) -> None:
    async with signal() as it:
        arrival = envelope()
        arrival["exception"] = {
            "message": "no session\x1b[2J",
            "type": "ProtocolNoSessionException",
        }
        with caplog.at_level(logging.WARNING):
            it.daemon.tell(arrival)
            it.daemon.tell(message("readable"))
            await it.heard.until(1)
    assert it.heard.texts == ["readable"]
    assert "(from=Anna, reason=no session[2J)" in caplog.text


async def test_an_account_that_went_away_after_it_was_found_is_told_so(signal: Make) -> None:
    async with signal(is_listening=False) as it:
        it.channel._daemon.account = OTHER
        with pytest.raises(ChannelRefused, match="does not know the account"):
            async with it.channel._daemon.events():
                pass


async def test_a_daemon_that_is_not_there_is_said_in_a_sentence(signal: Make) -> None:
    async with signal(is_listening=False) as it:
        it.channel._daemon._base_url = "http://127.0.0.1:1"
        with pytest.raises(ChannelUnavailable, match=r"cannot reach .* .127\.0\.0\.1:1"):
            await it.listen()


async def test_what_is_no_daemon_is_said_so(signal: Make) -> None:
    async with signal(is_listening=False) as it:
        it.channel._daemon._base_url += "/elsewhere"
        with pytest.raises(ChannelRefused, match="no signal-cli daemon"):
            await it.listen()


async def test_a_stream_that_ends_is_listened_to_again_and_misses_nothing(signal: Make) -> None:
    async with signal(SignalDaemon(numbers_events=True)) as it:
        it.daemon.tell(message("one", timestamp=1))
        it.daemon.tell(message("two", timestamp=2))
        await it.heard.until(2)
        it.daemon.cut()
        assert it.listening is not None
        with pytest.raises(ChannelUnavailable, match="ended the stream"):
            await it.listening
        it.daemon.tell(message("while nobody listened", timestamp=3))
        it.listen()
        await it.heard.until(3)
        assert it.daemon.streams_asked[1] == (NUMBER, "2")
    assert it.heard.texts == ["one", "two", "while nobody listened"]


async def test_a_new_agent_goes_on_where_the_last_one_ended(signal: Make) -> None:
    daemon = SignalDaemon(numbers_events=True, waits_for_listeners=False)
    async with signal(daemon) as it:
        it.daemon.tell(message("one", timestamp=1))
        it.daemon.tell(message("two", timestamp=2))
        # By then the first one counts as taken, and perhaps the second one too
        await it.heard.until(2)
    daemon.tell(message("in between", timestamp=3))
    async with signal(daemon) as again:
        heard = await again.heard.until(1)
        await again.heard.until(2 if heard[0].text == "two" else 1)
    assert again.heard.texts in (["in between"], ["two", "in between"])


async def test_what_could_not_be_kept_is_kept_when_there_is_room(signal: Make) -> None:
    async with signal(is_listening=False) as it:

        async def refuse(_: object) -> None:
            raise StorageFull("no room")

        for number in range(5):
            it.daemon.tell(message(f"number {number}", timestamp=number + 1))
        for _ in range(5):
            with pytest.raises(StorageFull):
                await it.channel.listen(refuse)
        it.listen()
        await it.heard.until(5)
    assert it.heard.texts == [f"number {number}" for number in range(5)]


async def test_a_message_that_breaks_us_is_given_up_and_the_next_one_heard(
    signal: Make, caplog: pytest.LogCaptureFixture
) -> None:
    async with signal(is_listening=False) as it:

        async def breaks(inbound: Inbound) -> None:
            if inbound.text == "poison":
                raise RuntimeError("a mistake of ours")
            await it.heard.deliver(inbound)

        it.daemon.tell(message("poison", timestamp=1))
        it.daemon.tell(message("after it", timestamp=2))
        for _ in range(receive.MAX_TRIES):
            with pytest.raises(RuntimeError):
                await it.channel.listen(breaks)
        it.listening = asyncio.create_task(it.channel.listen(breaks))
        await it.heard.until(1)
    assert it.heard.texts == ["after it"]
    assert "given up (tries=3)" in caplog.text


async def test_what_arrives_while_nobody_listens_waits_at_signals_servers(signal: Make) -> None:
    async with signal(is_listening=False) as it:
        it.daemon.tell(message("early"))
        it.listen()
        await it.heard.until(1)
    assert it.heard.texts == ["early"]


async def test_silence_beyond_three_signs_of_life_ends_the_stream(
    signal: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.channels.signal.receive.SILENCE_LIMIT_S", 0.2)
    daemon = SignalDaemon(keep_alive_s=0.05)
    async with signal(daemon) as it:
        it.daemon.tell(message("alive"))
        await it.heard.until(1)
        it.daemon.is_deaf = True
        assert it.listening is not None
        with pytest.raises(ChannelUnavailable, match="sent nothing"):
            await it.listening


def test_headers_that_wait_for_the_first_sign_of_life_are_waited_for() -> None:
    assert 3 * SignalDaemon().keep_alive_s == daemon_module.SILENCE_LIMIT_S


async def test_the_pulse_beats_with_every_byte_and_ages_without(signal: Make) -> None:
    clock = SteppedClock()
    async with signal(SignalDaemon(keep_alive_s=0.02), clock=clock) as it:
        clock.advance(50)
        await wait_until(lambda: not it.channel.pulse.age_s)
        it.daemon.is_deaf = True
        it.daemon.tell(message("never sent"))
        clock.advance(50)
        await stays(lambda: it.channel.pulse.age_s == 50, 0.05)


async def test_an_event_that_is_too_large_ends_the_stream_before_it_is_held(signal: Make) -> None:
    async with signal() as it:
        it.daemon.tell_raw("data:" + "x" * (1024 * 1024 + 10))
        assert it.listening is not None
        with pytest.raises(ChannelUnavailable, match="1024 KB"):
            await it.listening


async def test_a_deep_nest_of_json_is_one_line_in_the_log(
    signal: Make, caplog: pytest.LogCaptureFixture
) -> None:
    async with signal() as it:
        with caplog.at_level(logging.WARNING):
            it.daemon.tell_raw("data:" + "[" * 100_000 + "\n\n")
            it.daemon.tell(message("after it"))
            await it.heard.until(1)
    assert "not as documented" in caplog.text


async def test_a_number_is_never_what_somebody_is_known_by(signal: Make) -> None:
    async with signal() as it:
        it.daemon.tell(message("I have Anna's number now", sender=BERND))
        (inbound,) = await it.heard.until(1)
    assert ANNAS_NUMBER not in (inbound.sender, inbound.reply_target, inbound.message_id)


async def test_a_stream_takes_no_place_from_what_is_said(
    signal: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.net.http.MAX_CONNECTIONS", 1)
    async with signal() as it:
        await it.channel.send(Outbound(1, "signal", ANNA, "here I am", "1"))
        assert [one.text for one in it.daemon.shown(ANNA)] == ["here I am"]
