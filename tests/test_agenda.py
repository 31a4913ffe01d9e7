import asyncio
from functools import partial
from pathlib import Path

from agent.agenda import Agenda
from agent.clock import SystemClock
from agent.dispatch.delivery import Delivery
from agent.messages import Address, Provenance
from agent.schedule.job import HEARTBEAT
from agent.settings import Paths, Settings
from agent.tools.base import ToolContext
from agent.tools.cron import CronAddArguments
from tests.fakes.channel import FakeChannel
from tests.fakes.dispatching import running
from tests.fakes.provider import EchoProvider

HOME = Address("fake", "chat", "owner")
CONTEXT = ToolContext("c", "owner", Provenance.OWNER, place=HOME)
LIMIT_S = 10.0


async def nobody(_text: str) -> None:
    """Is told nothing in these tests."""


async def test_what_is_ordered_runs_at_once_where_it_is_wanted_now(tmp_path: Path) -> None:
    channel, agenda = FakeChannel(), Agenda(Settings(), Paths(None, tmp_path), SystemClock())
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "HEARTBEAT.md").write_text("- Is the soil dry?\n")
    async with running(tmp_path, EchoProvider(), channel) as at_work:
        delivery = Delivery(at_work.journal, {channel.name: channel}, SystemClock())
        deliver = partial(at_work.dispatcher.take, tasks=at_work.tasks)
        around = (at_work.journal, delivery, deliver, nobody, lambda: (HOME,))
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
    agenda = Agenda(Settings(), Paths(None, tmp_path), SystemClock())
    assert await agenda.told_to("owner") == "There are no jobs."
    assert not agenda._paths.jobs.exists()
