"""People are written to for a day after they have written, and what waits goes first then."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.channels.whatsapp.reply_windows import MAX_PEOPLE, WINDOW_S, WhatsAppWindows
from agent.errors import ChannelUnavailable
from agent.messages import Inbound, Outbound
from agent.messaging import outbox
from tests.contracts.listener import answer, listening
from tests.fakes import dispatching
from tests.fakes.clock import SteppedClock
from tests.fakes.dispatching import Running
from tests.fakes.provider import EchoProvider
from tests.fakes.whatsapp_platform import WhatsAppPlatform, running
from tests.fakes.whatsapp_server import ANNA, body_of
from tests.waits import wait_until

TO_ANNA = Outbound(1, "whatsapp", ANNA, "an alarm", "")
LATE = [{"code": 131047, "title": "Re-engagement message"}]


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[WhatsAppPlatform]:
    async with running(tmp_path) as made:
        yield made


def stepped(platform: WhatsAppPlatform) -> SteppedClock:
    """The clock of every channel on it from now on."""
    platform.clock = clock = SteppedClock()
    platform.restarted()
    return clock


async def test_a_person_is_written_to_for_a_day_after_they_have_written(
    platform: WhatsAppPlatform,
) -> None:
    clock = stepped(platform)
    assert not platform.channel.attends(TO_ANNA)
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        await listener.first()
        clock.advance(WINDOW_S / 2)
        assert platform.channel.attends(TO_ANNA)
        assert platform.restarted().attends(TO_ANNA)
        clock.advance(WINDOW_S / 2)
        assert not platform.channel.attends(TO_ANNA)
        assert not platform.restarted().attends(TO_ANNA)


async def test_what_comes_again_opens_nothing(platform: WhatsAppPlatform) -> None:
    clock = stepped(platform)
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        await listener.first()
        clock.advance(WINDOW_S)
        await platform.repeat()
        assert not platform.channel.attends(TO_ANNA)
        await platform.write("again")
        assert platform.channel.attends(TO_ANNA)


async def test_the_platforms_own_word_closes_it_until_they_write_again(
    platform: WhatsAppPlatform,
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        platform.server.late.add(ANNA)
        with pytest.raises(ChannelUnavailable, match="they have to write to it first"):
            await platform.channel.send(answer(heard, "Here."))
        assert not platform.channel.attends(TO_ANNA)
    channel = platform.restarted()
    assert not channel.attends(TO_ANNA)
    async with listening(channel):
        await platform.write("again")
        assert channel.attends(TO_ANNA)


@pytest.mark.parametrize(("told_s", "is_open"), [(60, False), (-60, True)])
async def test_a_late_word_of_the_platform_closes_what_was_open_then(
    platform: WhatsAppPlatform, told_s: int, *, is_open: bool
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        assert heard.sent_at_s is not None
        at = f"{heard.sent_at_s + told_s:.0f}"
        status = {"id": "wamid.x", "status": "failed", "timestamp": at, "recipient_id": ANNA}
        await platform.server.post(body_of({"statuses": [{**status, "errors": LATE}]}))
        assert platform.channel.attends(TO_ANNA) is is_open


async def test_what_strangers_do_leaves_nothing_on_the_disk(
    platform: WhatsAppPlatform, tmp_path: Path
) -> None:
    platform.knows = False
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        await listener.first()
        assert platform.channel.attends(TO_ANNA)
        assert not (tmp_path / "whatsapp" / "windows.json").exists()


@asynccontextmanager
async def agent_on(platform: WhatsAppPlatform, folder: Path) -> AsyncIterator[Running]:
    """A dispatcher that hears what the platform posts."""
    async with dispatching.running(folder, EchoProvider(), platform.channel) as agent:

        async def deliver(inbound: Inbound) -> None:
            # The dispatcher of a test lives at another time
            now_s = agent.dispatcher._delivery.clock.wall_s()
            present = replace(inbound, sent_at_s=None, received_at_s=now_s)
            await agent.dispatcher.deliver(present, agent.tasks)

        hearing = asyncio.ensure_future(platform.channel.listen(deliver))
        try:
            yield agent
        finally:
            hearing.cancel()


async def waiting(agent: Running, *texts: str) -> None:
    """Return when these are what waits, in the hands of nobody."""
    delivery = agent.dispatcher._delivery

    async def wait() -> bool:
        left = await agent.journal.transact(outbox.undelivered)
        return [one.text for one in left] == [*texts] and not delivery._under_way

    await wait_until(wait)


async def test_what_may_not_be_sent_waits_over_a_restart_and_goes_first(
    platform: WhatsAppPlatform, tmp_path: Path
) -> None:
    server, folder = platform.server, tmp_path / "agent"
    async with agent_on(platform, folder) as agent:
        await platform.write("one")
        await wait_until(lambda: "echo: one" in said(platform))
        # The platform counts otherwise than we do
        server.late.add(ANNA)
        delivery = agent.dispatcher._delivery
        alarm = await delivery.announce("whatsapp", ANNA, "the pump is dry")
        assert alarm is not None
        assert not await delivery.send(alarm)
        await waiting(agent, "the pump is dry")
        assert delivery._activity.deaf == set()
        later = await delivery.announce("whatsapp", ANNA, "it is wet again")
        assert later is not None
        calls = len(server.calls)
        assert not await delivery.send(later)
        assert len(server.calls) == calls
    platform.restarted()
    async with agent_on(platform, folder) as agent:
        await agent.dispatcher._delivery.catch_up("whatsapp", ANNA, agent.tasks)
        await waiting(agent, "the pump is dry", "it is wet again")
        await platform.write("two")
        await wait_until(lambda: "echo: two" in said(platform))
        await waiting(agent)
    expected = ["echo: one", "the pump is dry\n\nit is wet again", "echo: two"]
    assert said(platform) == expected


def said(platform: WhatsAppPlatform) -> list[str]:
    return [one["text"]["body"] for one in platform.server.sent if one["type"] == "text"]


async def test_a_clock_that_is_set_changes_nothing_while_it_runs(tmp_path: Path) -> None:
    clock, path = SteppedClock(), tmp_path / "w.json"
    windows = WhatsAppWindows(path, "1", clock)
    await windows.open(ANNA, 0.0, is_known=True)
    clock._wall_offset_s += 1e8
    assert windows.is_open(ANNA)
    # What is kept is by people's time, and no longer than the platform's
    assert not WhatsAppWindows(path, "1", clock).is_open(ANNA)
    clock._wall_offset_s -= 2e8
    back = WhatsAppWindows(path, "1", clock)
    assert back.is_open(ANNA)
    clock.advance(WINDOW_S)
    assert not back.is_open(ANNA)


@pytest.mark.parametrize("kept", ["", "[]", '{"number_id":"1"}', '{"number_id":"2","people":{}}'])
def test_what_is_no_record_of_this_number_is_none(kept: str, tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text(kept)
    assert not WhatsAppWindows(tmp_path / "w.json", "1", SteppedClock()).is_open(ANNA)


async def test_strangers_make_nobody_else_forgotten(tmp_path: Path) -> None:
    windows = WhatsAppWindows(tmp_path / "w.json", "1", SteppedClock())
    await windows.open(ANNA, 0.0, is_known=True)
    for number in range(MAX_PEOPLE + 5):
        await windows.open(f"{number}", 0.0, is_known=False)
    assert windows.is_open(ANNA)
    assert len(windows._people) == MAX_PEOPLE
    assert [*json.loads((tmp_path / "w.json").read_bytes())["people"]] == [ANNA]
