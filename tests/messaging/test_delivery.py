import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.channels import rest
from agent.channels.base import Abilities, Channel
from agent.channels.imessage import client as imessage_client
from agent.channels.signal import client as signal_client
from agent.config import Secret
from agent.messages import Attachment, Outbound
from agent.messaging import delivery as delivering
from agent.messaging import inbox, outbox
from agent.messaging.delivery import MAX_TRIES, Delivery
from agent.messaging.journal import open_agent_db
from agent.security.redact import Redactor
from agent.storage.worker import DatabaseWorker
from tests.fakes.channel import FakeChannel, RefusingChannel
from tests.fakes.clock import SteppedClock
from tests.fakes.sending import AwayFor, BusyChat, HangsFor, NeverTakes, ShortBreath, SlowLine

SECRET = "sk-abcdefghijklmnop"


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[DatabaseWorker]:
    worker = open_agent_db(tmp_path / "agent.db")
    yield worker
    await worker.aclose()


async def _kept(delivery: Delivery, text: str, chat: str = "chat") -> Outbound:
    message = await delivery.announce("fake", chat, text)
    assert message is not None
    return message


def _delivery(
    journal: DatabaseWorker, channel: Channel, clock: SteppedClock | None = None
) -> Delivery:
    redactor = Redactor()
    redactor.add(Secret(SECRET))
    return Delivery(journal, {"fake": channel}, clock or SteppedClock(), redactor=redactor)


async def _left(journal: DatabaseWorker) -> list[str]:
    return [message.text for message in await journal.transact(outbox.undelivered)]


async def test_a_device_that_only_tells_keeps_no_more_than_one_that_answers(
    journal: DatabaseWorker,
) -> None:
    delivery = _delivery(journal, FakeChannel())
    assert await delivery.send(await _kept(delivery, "long ago"))
    before = (inbox.MOST_SETTLED // inbox.TRIM_EVERY + 1) * inbox.TRIM_EVERY - 1

    def move(db: sqlite3.Connection) -> None:
        # As if so much had been told since
        db.execute("UPDATE outbox SET id = ? WHERE text = 'today'", (before,))

    assert await delivery.send(await _kept(delivery, "today"))
    await journal.transact(move)
    await _kept(delivery, "now")
    left = await journal.transact(lambda db: db.execute("SELECT text FROM outbox").fetchall())
    assert left == [("today",), ("now",)]


async def test_a_picture_goes_with_what_nobody_asked_for_and_waits_with_it(
    journal: DatabaseWorker,
) -> None:
    picture = Attachment("drawings/reading.png", "image/png", "reading.png", 9)
    channel = FakeChannel()
    delivery = _delivery(journal, channel)
    message = await delivery.announce("fake", "chat", "It is hot.", files=[picture])
    assert message is not None
    (kept,) = await journal.transact(outbox.undelivered)
    assert kept.files == (picture,)
    assert await delivery.send(message)
    assert [part.files for part in channel.sent] == [(picture,)]


async def test_an_answer_goes_in_the_parts_that_the_platform_takes(
    journal: DatabaseWorker,
) -> None:
    channel = ShortBreath()
    delivery = _delivery(journal, channel)
    assert await delivery.send(await _kept(delivery, "one two three"))
    assert [(part.part, part.text) for part in channel.sent] == [
        (0, "one t"),
        (1, "wo th"),
        (2, "ree"),
    ]
    assert await _left(journal) == []


async def test_a_restart_goes_on_with_the_next_part(journal: DatabaseWorker) -> None:
    cut = ShortBreath(breaks_after=2)
    delivery = _delivery(journal, cut)
    sending = asyncio.ensure_future(delivery.send(await _kept(delivery, "one two three")))
    await cut.wait_for(2)
    while (await journal.look(outbox.undelivered))[0].part < 2:  # noqa: ASYNC110 - a state on disk
        await asyncio.sleep(0)
    sending.cancel()
    whole = ShortBreath()
    after = _delivery(journal, whole)
    (message,) = await after.left_over()
    assert await after.send(message)
    assert [part.text for part in whole.sent] == ["ree"]


async def test_an_answer_that_makes_fewer_parts_now_ends_with_its_file(
    journal: DatabaseWorker,
) -> None:
    """As after an update that fills each part better."""
    picture = Attachment("drawings/reading.png", "image/png", "reading.png", 9)
    before = _delivery(journal, FakeChannel())
    message = await before.announce("fake", "chat", "one two", files=[picture])
    assert message is not None
    # By parts of three characters, two of which had arrived
    await journal.transact(lambda db: outbox.note_part(db, message.outbox_id, 2))
    channel = ShortBreath()
    after = _delivery(journal, channel)
    (left,) = await after.left_over()
    assert await after.send(left)
    assert [(part.text, part.files) for part in channel.sent] == [("wo", (picture,))]
    assert await _left(journal) == []


async def test_no_secret_hides_behind_a_cut(journal: DatabaseWorker) -> None:
    channel = ShortBreath()
    delivery = _delivery(journal, channel)
    await delivery.send(Outbound(0, "fake", "chat", f"it is {SECRET}", ""))
    said = "".join(part.text for part in channel.sent)
    assert "abcd" not in said


async def test_what_goes_to_one_place_keeps_its_order(journal: DatabaseWorker) -> None:
    channel = RefusingChannel(2)
    delivery = _delivery(journal, channel)
    messages = [await _kept(delivery, f"{number}") for number in range(5)]
    async with asyncio.TaskGroup() as tasks:
        for message in messages:
            tasks.create_task(delivery.send(message))
    assert [message.text for message in channel.sent] == ["0", "1", "2", "3", "4"]


async def test_a_chat_is_left_alone_for_as_long_as_the_platform_asks(
    journal: DatabaseWorker,
) -> None:
    clock = SteppedClock()
    channel = BusyChat("busy", 37.0)
    delivery = _delivery(journal, channel, clock)
    assert await delivery.send(await _kept(delivery, "hi", "busy"))
    assert clock.monotonic_s() == pytest.approx(37.0)


@pytest.mark.parametrize(("retry_after_s", "arrives"), [(7.0, True), (600.0, False)])
async def test_a_question_of_a_turn_waits_for_a_busy_chat_but_not_for_long(
    journal: DatabaseWorker, retry_after_s: float, *, arrives: bool
) -> None:
    clock = SteppedClock()
    delivery = _delivery(journal, BusyChat("busy", retry_after_s), clock)
    question = Outbound(0, "fake", "busy", "How long?", "")
    assert await delivery.send_unrecorded(question) is arrives
    assert clock.monotonic_s() == pytest.approx(retry_after_s if arrives else 0.0)


async def test_one_busy_chat_holds_up_no_other(journal: DatabaseWorker) -> None:
    channel = BusyChat("busy", 37.0)
    delivery = _delivery(journal, channel)
    first, second = await _kept(delivery, "a", "busy"), await _kept(delivery, "b", "free")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(delivery.send(first))
        tasks.create_task(delivery.send(second))
    assert [message.text for message in channel.sent] == ["b", "a"]


async def test_a_platform_that_is_away_refuses_nothing(journal: DatabaseWorker) -> None:
    clock = SteppedClock()
    channel = AwayFor(3 * MAX_TRIES)
    delivery = _delivery(journal, channel, clock)
    assert await delivery.send(await _kept(delivery, "hi"))
    assert max(clock.slept_s) == 60.0


async def test_what_is_refused_for_ever_is_a_dead_letter_at_once(journal: DatabaseWorker) -> None:
    channel = NeverTakes("bad")
    delivery = _delivery(journal, channel)
    bad, good = await _kept(delivery, "bad"), await _kept(delivery, "good")
    assert not await delivery.send(bad)
    assert channel.tries == 1
    assert await delivery.send(good)
    assert await _left(journal) == []


async def test_five_tries_make_a_dead_letter(journal: DatabaseWorker) -> None:
    channel = RefusingChannel(1_000)
    delivery = _delivery(journal, channel)
    assert not await delivery.send(await _kept(delivery, "hi"))
    assert channel.tries == MAX_TRIES
    assert await _left(journal) == []


async def test_the_same_answer_is_not_sent_twice_at_once(journal: DatabaseWorker) -> None:
    channel = FakeChannel()
    delivery = _delivery(journal, channel)
    message = await _kept(delivery, "hi")
    sent = await asyncio.gather(delivery.send(message), delivery.send(message))
    assert sent == [True, False]
    assert len(channel.sent) == 1


async def test_a_platform_that_does_not_answer_refuses_nothing(
    journal: DatabaseWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivering, "SEND_TIMEOUT_S", 0.02)
    delivery = _delivery(journal, HangsFor(MAX_TRIES))
    assert await delivery.send(await _kept(delivery, "hi"))


def test_a_channel_has_the_time_to_say_what_is_wrong() -> None:
    """A message that is cut off before may arrive all the same, and once more with each try."""
    calls_s = (
        rest.CALL_TIMEOUT_S,
        signal_client.CALL_TIMEOUT_S,
        imessage_client.SEND_TIMEOUT_S,
    )
    assert max(calls_s) < delivering.SEND_TIMEOUT_S


async def test_a_file_may_take_as_long_as_its_channel_says(
    journal: DatabaseWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivering, "SEND_TIMEOUT_S", 0.02)
    delivery = _delivery(journal, SlowLine(takes_s=0.1))
    bare = Outbound(0, "fake", "chat", "here", "")
    assert not await delivery.send_unrecorded(bare)
    assert await delivery.send_unrecorded(replace(bare, files=(Attachment("a", "a/b"),)))


async def test_a_large_file_may_take_longer(
    journal: DatabaseWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivering, "SEND_TIMEOUT_S", 0.02)
    channel = SlowLine(takes_s=0.5)
    channel.abilities = Abilities(upload_s=0.1)
    file = Attachment("a", "a/b", size_bytes=100 * 1024 * 1024)
    large = Outbound(0, "fake", "chat", "here", "", files=(file,))
    assert await _delivery(journal, channel).send_unrecorded(large)
