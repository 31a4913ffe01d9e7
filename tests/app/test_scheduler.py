import asyncio
from functools import partial
from pathlib import Path

from agent.app.scheduler import Scheduler
from agent.messages import Address, Provenance
from agent.messaging.delivery import Delivery
from agent.schedule.job import HEARTBEAT
from agent.settings import Paths, Settings
from agent.system.clock import SystemClock
from agent.tools.base import ToolContext
from agent.tools.cron import CronAddArguments
from agent.tools.reminder import ReminderSetArguments
from agent.tools.timer import TimerStartArguments
from tests.fakes.channel import FakeChannel
from tests.fakes.dispatching import anybody, running
from tests.fakes.provider import EchoProvider
from tests.waits import PATIENCE_S

HOME = Address("fake", "chat", "owner")
CONTEXT = ToolContext("c", "owner", Provenance.OWNER, place=HOME)
LIMIT_S = PATIENCE_S


async def nobody(_text: str) -> None:
    """Is told nothing in these tests."""


async def test_what_is_ordered_runs_at_once_where_it_is_wanted_now(tmp_path: Path) -> None:
    channel, agenda = FakeChannel(), Scheduler(Settings(), Paths(None, tmp_path), SystemClock())
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "HEARTBEAT.md").write_text("- Is the soil dry?\n")
    async with running(tmp_path, EchoProvider(), channel) as at_work:
        delivery = Delivery(at_work.journal, {channel.name: channel}, SystemClock())
        deliver = partial(at_work.dispatcher.take, tasks=at_work.tasks)
        around = (at_work.journal, delivery, deliver, anybody, nobody, lambda: (HOME,))
        doing = asyncio.create_task(agenda.run(*around))
        async with asyncio.timeout(LIMIT_S):
            while HEARTBEAT not in await agenda.told_to("owner"):
                await SystemClock().sleep(0.01)
            await agenda.book.add(
                CronAddArguments("tea", message="Tea!", cron="0 0 1 1 *"), CONTEXT
            )
            await agenda.book.run("tea", "owner")
            assert await channel.wait_for(1) == ["Tea!"]
        doing.cancel()
        await asyncio.wait([doing])
    assert "what HEARTBEAT.md says" in await agenda.told_to("owner")
    assert await agenda.told_to("mei") == "There are no jobs."


async def test_an_agenda_that_is_looked_at_makes_no_file(tmp_path: Path) -> None:
    agenda = Scheduler(Settings(), Paths(None, tmp_path), SystemClock())
    assert await agenda.told_to("owner") == "There are no jobs."
    assert not agenda._paths.jobs.exists()


async def test_a_timer_speaks_in_the_chat_where_it_was_set(tmp_path: Path) -> None:
    channel, agenda = FakeChannel(), Scheduler(Settings(), Paths(None, tmp_path), SystemClock())
    async with running(tmp_path, EchoProvider(), channel) as at_work:
        delivery = Delivery(at_work.journal, {channel.name: channel}, SystemClock())
        deliver = partial(at_work.dispatcher.take, tasks=at_work.tasks)
        around = (at_work.journal, delivery, deliver, anybody, nobody, lambda: ())
        doing = asyncio.create_task(agenda.run(*around))
        async with asyncio.timeout(LIMIT_S):
            await agenda.timers.start(TimerStartArguments(1, "tea", language="de"), CONTEXT)
            assert "timer tea of 1 s" in await agenda.told_to("owner")
            assert await channel.wait_for(1) == ["Timer „tea“ (1 s): Die Zeit ist um."]
            reminder = ReminderSetArguments("the soup", in_seconds=1)
            await agenda.reminders.remind(reminder, CONTEXT)
            await channel.wait_for(2)
            while "timer" in await agenda.told_to("owner"):
                await SystemClock().sleep(0.01)
        doing.cancel()
        await asyncio.wait([doing])
    assert channel.sent[1].text == "Reminder: the soup"
    assert await agenda.told_to("owner") == "There are no jobs."


async def test_an_order_of_a_timer_is_a_turn_at_its_end(tmp_path: Path) -> None:
    channel, agenda = FakeChannel(), Scheduler(Settings(), Paths(None, tmp_path), SystemClock())
    async with running(tmp_path, EchoProvider(), channel) as at_work:
        delivery = Delivery(at_work.journal, {channel.name: channel}, SystemClock())
        deliver = partial(at_work.dispatcher.take, tasks=at_work.tasks)
        around = (at_work.journal, delivery, deliver, anybody, nobody, lambda: ())
        doing = asyncio.create_task(agenda.run(*around))
        async with asyncio.timeout(LIMIT_S):
            await agenda.timers.start(TimerStartArguments(1, order="turn on the led"), CONTEXT)
            (said,) = await channel.wait_for(1)
        doing.cancel()
        await asyncio.wait([doing])
    assert "turn on the led" in said
