"""The agent as a conversation agent by Wyoming, as clients use it who are no library's."""

import asyncio
import json
from pathlib import Path

import pytest

from agent.access.roles import PersonRole
from agent.channels.base import Answer
from agent.gateway.assistants.wyoming import channel, connection
from agent.messages import Provenance
from agent.net import wyoming as wire
from tests.fakes.board_sim import BoardSim
from tests.fakes.lent_agent import lent
from tests.fakes.llm_server import streamed
from tests.waits import wait_until

STORY = " ".join(f"This is sentence {number}." for number in range(20))
SLOW = streamed(STORY, piece_bytes=300, pause_s=0.05)
WYOMING = '[wyoming]\nlisten = "127.0.0.1:0"\n'


@pytest.fixture
def sim(request: pytest.FixtureRequest, tmp_path: Path) -> "BoardSim":
    request.getfixturevalue("micropython_command")
    with BoardSim(tmp_path, {"values": {}, "script": []}) as started:
        yield started


async def test_it_says_what_it_is_and_that_it_is_there(tmp_path: Path) -> None:
    async with lent(tmp_path, gateway=WYOMING) as made:
        client = await made.voice_client()
        client.say("describe")
        kind, told = await client.event()
        client.say("ping", text="hello")
        assert await client.event() == ("pong", {"text": "hello"})
    assert kind == "info"
    [program] = told["handle"]
    assert (program["name"], program["installed"]) == ("Barnacle", True)
    assert "de" in program["models"][0]["languages"]
    assert told["asr"] == told["intent"] == []


async def test_whoever_is_not_paired_is_told_how_and_asks_nothing(tmp_path: Path) -> None:
    async with lent(tmp_path, gateway=WYOMING) as made:
        client = await made.voice_client()
        client.ask("what time is it?")
        kind, told = await client.answer()
        assert made.accepted() == []
    assert kind == "not-handled"
    assert "barnacle pair --wyoming 127.0.0.1" in told["text"]


async def test_what_is_said_in_a_room_counts_as_a_guests_word(tmp_path: Path) -> None:
    async with lent(tmp_path, gateway=WYOMING) as made:
        client = await made.hear()
        assert "weekday" in await client.asked("what time is it?")
        assert made.accepted() == [("what time is it?", Provenance.WEB)]


async def test_no_code_is_taken_there_and_nobody_is_an_owner(tmp_path: Path) -> None:
    async with lent(tmp_path, gateway=WYOMING) as made:
        client = await made.hear(PersonRole.USER)
        told = await client.asked("/pair 12345-67890")
        made.pair_voice(PersonRole.OWNER)
        await client.asked("what time is it?")
        assert made.accepted()[-1] == ("what time is it?", Provenance.USER)
    assert "Nobody is paired by a program" in told


async def test_an_act_is_the_owners_to_allow_in_their_own_chat(
    tmp_path: Path, sim: BoardSim
) -> None:
    async with lent(tmp_path, gateway=WYOMING, sim=sim, answer=Answer.YES) as made:
        client = await made.hear()
        assert await client.asked("turn on the led") == "The led is on now."
        assert made.led()[:1] == [1]
        [question] = made.owner.questions
        assert [place.channel for place in made.owner.asked] == ["fake"]
    assert "room (guest) asked for it on wyoming" in question.reason


async def test_what_the_owner_refuses_is_not_done(tmp_path: Path, sim: BoardSim) -> None:
    extra = 'autonomy = "full"'
    async with lent(tmp_path, gateway=WYOMING, sim=sim, answer=Answer.NO, agent=extra) as made:
        client = await made.hear(PersonRole.USER)
        assert "on now" not in await client.asked("turn on the led")
        assert made.led() == []
        assert len(made.owner.questions) == 1


async def test_a_stream_is_told_in_sentences_and_whole(tmp_path: Path) -> None:
    async with lent(tmp_path, SLOW, gateway=WYOMING) as made:
        client = await made.hear()
        client.ask("tell me", conversation_id="kitchen")
        events = [await client.event()]
        while events[-1][0] != "handled-stop":
            events.append(await client.event())
    kinds = [kind for kind, _ in events]
    assert kinds[0] == "handled-start"
    assert kinds[-2:] == ["handled", "handled-stop"]
    chunks = [data["text"] for kind, data in events if kind == "handled-chunk"]
    assert len(chunks) > 2
    assert "".join(chunks) == events[-2][1]["text"] == STORY
    assert events[-2][1]["context"] == {"conversation_id": "kitchen"}


async def test_conversations_at_once_are_told_apart(tmp_path: Path) -> None:
    def repeated(request: dict[str, object]) -> object:
        talk = [one for one in request["messages"] if one["role"] != "system"]  # type: ignore[attr-defined]
        return streamed(f"{len(talk)}: {talk[0]['content']}")

    async with lent(tmp_path, repeated, gateway=WYOMING) as made:  # type: ignore[arg-type]
        first = await made.hear()
        second = await made.voice_client()
        both = await asyncio.gather(
            first.asked("kitchen", conversation_id="a"), second.asked("bath", conversation_id="b")
        )
        again = await second.asked("once more", conversation_id="a")
        # Who names no conversation has one of the connection
        alone = [await first.asked("alone"), await first.asked("and again")]
        other = await second.asked("alone too")
    assert both == ["1: kitchen", "1: bath"]
    assert again == "3: kitchen"
    assert alone == ["1: alone", "3: alone"]
    assert other == "1: alone too"


async def test_two_sentences_on_one_connection_are_answered_in_order(tmp_path: Path) -> None:
    async with lent(tmp_path, streamed("First."), streamed("Second."), gateway=WYOMING) as made:
        client = await made.hear()
        client.ask("one")
        client.ask("two")
        assert [(await client.answer())[1]["text"] for _ in range(2)] == ["First.", "Second."]


async def test_a_client_that_leaves_in_the_middle_ends_nothing(tmp_path: Path) -> None:
    async with lent(tmp_path, SLOW, gateway=WYOMING) as made:
        client = await made.hear()
        client.ask("tell me", request_id="order-1")
        await wait_until(lambda: len(made.model.requests) == 1)
        client.leave()
        again = await made.voice_client()
        assert await again.asked("tell me", request_id="order-1") == STORY
        assert len(made.model.requests) == 1
        assert [text for text, _ in made.accepted()] == ["tell me"]


async def test_a_request_that_is_sent_again_acts_once(tmp_path: Path, sim: BoardSim) -> None:
    async with lent(tmp_path, gateway=WYOMING, sim=sim, answer=Answer.YES) as made:
        client = await made.hear()
        told = [
            await client.asked("turn on the led", conversation_id="a", request_id="7")
            for _ in range(2)
        ]
        client.ask("turn off the led", conversation_id="a", request_id="7")
        kind, other = await client.answer()
        assert len(made.owner.questions) == 1
    assert told == ["The led is on now."] * 2
    assert kind == "not-handled"
    assert "another request" in other["text"]


async def test_silence_and_what_is_too_long_ask_nothing(tmp_path: Path) -> None:
    async with lent(tmp_path, gateway=WYOMING) as made:
        client = await made.hear()
        for text, told in (
            ("", connection.SILENCE_TEXT),
            (" \n", connection.SILENCE_TEXT),
            ("a" * (connection.MAX_TEXT_CHARS + 1), connection.TOO_LONG_TEXT),
        ):
            client.ask(text)
            kind, data = await client.answer()
            assert (kind, data["text"]) == ("not-handled", told)
        client.ask("hello", conversation_id="c" * 300)
        assert "conversation_id is longer" in (await client.answer())[1]["text"]
        client.say("transcript", text=["no", "text"], context="none")
        assert (await client.answer())[1]["text"] == connection.SILENCE_TEXT
        assert made.accepted() == []
        assert "weekday" in await client.asked("what time is it?")


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"hello\n", "no event"),
        (b"\n", "no event"),
        (b"\xff\xfe{}\n", "no event"),
        (b"[" * 5000 + b"\n", "no event"),
        (b'{"type": 5}\n', "no event"),
        (b'{"type": "ping", "data_length": -1}\n', "no event"),
        (b'{"type": "ping", "payload_length": 1e99}\n', "no event"),
        (b'{"type": "ping", "data_length": 5}\n[1,2]', "no event"),
        (b'{"type": "ping", "data_length": 9999999999}\n', "data of an event is longer"),
        (b'{"type": "audio-chunk", "payload_length": 9999999999}\n', "payload of an event"),
        (b'{"type": "ping", "data": "' + b"a" * (wire.MAX_LINE_BYTES - 10), "a line is longer"),
    ],
)
async def test_what_is_no_event_is_refused_and_ends_the_connection(
    tmp_path: Path, raw: bytes, told: str
) -> None:
    async with lent(tmp_path, gateway=WYOMING) as made:
        client = await made.hear()
        client.send(raw)
        kind, data = await client.event()
        assert await client.has_ended()
        # Nobody else is disturbed
        other = await made.voice_client()
        assert "weekday" in await other.asked("what time is it?")
    assert kind == "error"
    assert told in data["text"]


async def test_a_line_of_ten_megabytes_is_not_held(tmp_path: Path) -> None:
    async with lent(tmp_path, gateway=WYOMING) as made:
        client = await made.hear()
        client.send(b'{"type": "ping", "data": "' + b"a" * 10_000_000)
        # What was not read yet cuts the connection before the refusal is read
        assert await client.has_ended()
        other = await made.voice_client()
        assert "weekday" in await other.asked("what time is it?")


async def test_sound_and_events_of_others_are_passed_over(tmp_path: Path) -> None:
    async with lent(tmp_path, gateway=WYOMING) as made:
        client = await made.hear()
        client.say("audio-chunk", b"\x00" * 100_000, rate=16000)
        client.say("select-program", name="Barnacle")
        client.send(b'{"type": "ping", "data": {"text": "in the line"}}\n')
        assert await client.event() == ("pong", {"text": "in the line"})


async def test_half_an_event_waits_for_its_end_and_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with lent(tmp_path, gateway=WYOMING) as made:
        client = await made.hear()
        half = json.dumps({"type": "ping", "data_length": 2}).encode()
        client.send(half[:9])
        await asyncio.sleep(0)
        client.send(half[9:] + b"\n{}")
        assert await client.event() == ("pong", {"text": ""})
        monkeypatch.setattr(wire, "EVENT_TIMEOUT_S", 0.05)
        client.send(half)
        kind, told = await client.event()
        assert await client.has_ended()
        leaving = await made.voice_client()
        leaving.send(half)
        leaving.leave()
    assert kind == "error"
    assert "whole within" in told["text"]


async def test_connections_are_bounded(tmp_path: Path) -> None:
    async with lent(tmp_path, gateway=WYOMING) as made:
        clients = [await made.hear() for _ in range(channel.MAX_CONNECTIONS_OF_ONE)]
        for client in clients:
            client.say("ping")
            assert (await client.event())[0] == "pong"
        assert await (await made.voice_client()).has_ended()
        clients[0].leave()
        await wait_until(lambda: made.voice is not None and made.voice.open == len(clients) - 1)
        late = await made.voice_client()
        late.say("ping")
        assert (await late.event())[0] == "pong"


async def test_whoever_is_revoked_has_no_access_from_the_next_sentence_on(tmp_path: Path) -> None:
    async with lent(tmp_path, gateway=WYOMING) as made:
        client = await made.hear()
        await client.asked("what time is it?")
        people = made.agent.access.people
        people.revoke(people.named("room"))
        client.ask("what time is it?")
        kind, told = await client.answer()
    assert kind == "not-handled"
    assert "no access" in told["text"]


async def test_its_own_words_from_the_loudspeaker_move_nothing(
    tmp_path: Path, sim: BoardSim
) -> None:
    """The owner would say yes: what protects the board here is that nobody is asked."""
    said = "You may say: turn on the led."
    script = (streamed(said), streamed("unused"))
    async with lent(tmp_path, *script, gateway=WYOMING, sim=sim, answer=Answer.YES) as made:
        client = await made.hear()
        assert await client.asked("what can I say?") == said
        # Another room hears it, too; and then what is said of it
        other = await made.voice_client()
        for heard, told in (
            ("you may say turn on the led", connection.ECHO_TEXT),
            ("turn on the led", connection.ECHO_TEXT),
            ("those were my own words so I did nothing", ""),
        ):
            other.ask(heard)
            kind, answer = await other.answer()
            assert (kind, answer["text"]) == ("not-handled", told)
        assert len(made.accepted()) == 1
        assert made.led() == []
        assert made.owner.questions == []
