import asyncio
import hashlib
import random
from pathlib import Path

import pytest

from agent.channels.base import Answer, Question
from agent.channels.received_files import MAX_FILE_BYTES
from agent.channels.signal.files import FETCH_TIMEOUT_S
from agent.messages import Address
from tests.channels.signal.conftest import Make
from tests.fakes.signal_daemon import SignalDaemon
from tests.fakes.signal_events import ANNA, in_group, mention, message
from tests.fakes.signal_faults import BreaksOff, Fails, Status, Waits
from tests.waits import wait_until

# As long as the files of a message may take
OVERTAKEN_S = FETCH_TIMEOUT_S / 2
QUESTION = Question("relay", '{"on":true}', "it is actuate")


def file(
    known: str, content_type: str = "image/jpeg", size: int = 5, name: str | None = None
) -> dict[str, object]:
    return {"id": known, "contentType": content_type, "filename": name, "size": size}


@pytest.mark.parametrize("piece_bytes", [1, 3, 7, 100, 65536])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 1000])
async def test_a_file_comes_whole_in_pieces_of_any_size(
    signal: Make, piece_bytes: int, size: int
) -> None:
    content = random.Random(size).randbytes(size)
    daemon = SignalDaemon(piece_bytes=piece_bytes, files={"a": content})
    async with signal(daemon) as it:
        it.daemon.tell(message("look", attachments=[file("a", name="../../etc/passwd\x1b")]))
        (inbound,) = await it.heard.until(1)
    (kept,) = inbound.attachments
    assert Path(kept.path).read_bytes() == content  # noqa: ASYNC240 - nothing else waits
    assert Path(kept.path).parent == it.inbox
    assert (kept.media_type, kept.name, kept.size_bytes) == ("image/jpeg", "../../etc/passwd", size)
    assert inbound.text == "look"


async def test_a_large_file_is_the_same_file(signal: Make) -> None:
    content = random.Random(1).randbytes(3_000_000)
    async with signal(SignalDaemon(files={"a": content}, piece_bytes=50_001)) as it:
        it.daemon.tell(message(None, attachments=[file("a", "video/mp4", len(content))]))
        (inbound,) = await it.heard.until(1)
    kept = Path(inbound.attachments[0].path).read_bytes()  # noqa: ASYNC240 - as above
    assert hashlib.sha256(kept).digest() == hashlib.sha256(content).digest()


async def test_what_is_too_large_is_not_even_asked_for(signal: Make) -> None:
    async with signal() as it:
        it.daemon.tell(message("look", attachments=[file("a", size=MAX_FILE_BYTES + 1)]))
        (inbound,) = await it.heard.until(1)
        assert it.daemon.called("getAttachment") == []
    assert "larger than 20 MB" in inbound.notes[0]
    assert inbound.attachments == ()


async def test_a_file_is_asked_for_where_it_was_sent(signal: Make) -> None:
    async with signal(SignalDaemon(files={"a": b"x"})) as it:
        it.daemon.tell(message(None, timestamp=1, attachments=[file("a")]))
        it.daemon.tell(
            in_group("\ufffc", timestamp=2, attachments=[file("a")], mentions=[mention(0)])
        )
        await it.heard.until(2)
        alone, together = it.daemon.called("getAttachment")
    assert isinstance(alone["recipient"], str)
    assert "groupId" in together


@pytest.mark.parametrize(
    ("fault", "clue"),
    [
        (Fails(-1, "Could not find attachment"), "Could not find attachment"),
        (Fails(-3, "no network"), "no network"),
        (Status(500), "HTTP 500"),
        (BreaksOff(), "broke off"),
    ],
)
async def test_a_file_that_cannot_be_had_is_said_in_the_message(
    signal: Make, fault: Fails | Status | BreaksOff, clue: str
) -> None:
    async with signal(SignalDaemon(files={"b": b"x"})) as it:
        it.daemon.fail("getAttachment", fault)
        it.daemon.tell(message("look", attachments=[file("a"), file("b", "text/plain")]))
        (inbound,) = await it.heard.until(1)
    assert inbound.notes[0].startswith("I could not fetch a picture: ")
    assert clue in inbound.notes[0]
    assert len(inbound.attachments) == 1
    assert [path.name for path in it.inbox.iterdir()] == [Path(inbound.attachments[0].path).name]


async def test_a_stop_and_an_answer_overtake_a_file_that_is_fetched(signal: Make) -> None:
    fetching = Waits()
    async with signal(SignalDaemon(files={"a": b"x"})) as it:
        asking = asyncio.create_task(it.channel.ask(Address("signal", ANNA, ANNA), QUESTION))
        await it.daemon.until_called("send")
        it.daemon.fail("getAttachment", fetching)
        it.daemon.tell(message("look", timestamp=1, attachments=[file("a")]))
        await wait_until(lambda: not it.daemon.faults["getAttachment"])
        it.daemon.tell(message("then this", timestamp=2))
        it.daemon.tell(message(f"yes {QUESTION.question_id}", timestamp=3))
        it.daemon.tell(message("/estop", timestamp=4))
        async with asyncio.timeout(OVERTAKEN_S):
            assert await asking is Answer.YES
        await it.heard.until(1)
        assert it.heard.texts == ["/estop"]
        fetching.over.set()
        it.daemon.tell(message("the end", timestamp=5))
        await it.heard.until(4)
    assert it.heard.texts == ["/estop", "look", "then this", "the end"]


async def test_a_strangers_files_are_not_fetched(signal: Make) -> None:
    async with signal(SignalDaemon(files={"a": b"x"}), knows=False) as it:
        it.daemon.tell(message(None, attachments=[file("a"), file("b", "audio/aac")]))
        (inbound,) = await it.heard.until(1)
        assert it.daemon.called("getAttachment") == []
    assert inbound.notes == (
        "I did not fetch a picture: only of people with access I keep files.",
        "I did not fetch a voice message: only of people with access I keep files.",
    )


async def test_a_voice_message_is_kept_and_said_to_be_one(signal: Make) -> None:
    async with signal(SignalDaemon(files={"a": b"x"})) as it:
        it.daemon.tell(message(None, attachments=[file("a", "audio/aac")]))
        (inbound,) = await it.heard.until(1)
    assert "no speech service is configured" in inbound.notes[0]
    assert inbound.attachments[0].media_type == "audio/aac"


async def test_a_file_of_sound_is_no_order_of_the_sender(signal: Make) -> None:
    async with signal(SignalDaemon(files={"a": b"x"})) as it:
        sound = {**file("a", "audio/mpeg", name="talk.mp3"), "isVoiceNote": False}
        it.daemon.tell(message("keep it", attachments=[sound]))
        (inbound,) = await it.heard.until(1)
    assert inbound.notes == ()
    assert inbound.attachments[0].name == "talk.mp3"


async def test_what_is_no_base64_is_no_file(signal: Make) -> None:
    async with signal(SignalDaemon(files={"a": "AAA-====AAAA"})) as it:
        it.daemon.tell(message("look", attachments=[file("a")]))
        (inbound,) = await it.heard.until(1)
    assert "unreadable file" in inbound.notes[0]
    assert list(it.inbox.iterdir()) == []


async def test_a_message_without_words_or_files_that_can_be_had_is_none(signal: Make) -> None:
    async with signal() as it:
        it.daemon.tell(message(None, timestamp=1, attachments=[{"id": None, "size": 5}]))
        it.daemon.tell(
            message(
                None, timestamp=2, sticker={"packId": "a", "stickerId": 1, "emoji": "\U0001f44d"}
            )
        )
        it.daemon.tell(message(None, timestamp=3, contacts=[{"name": {}}]))
        await it.heard.until(2)
    assert it.heard.texts == ["[a sticker: \U0001f44d]", "[a contact]"]
    assert it.heard.messages[0].message_id.endswith(":2")
