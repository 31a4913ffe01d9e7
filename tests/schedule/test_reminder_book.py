import asyncio
from pathlib import Path

import pytest

from agent.errors import BadArguments
from agent.providers.offline.timer_words import late_reminder, reminder
from agent.schedule.job import Job
from agent.schedule.job_book import JobBook
from agent.schedule.job_store import JobStore
from agent.schedule.reminder_book import ReminderBook
from agent.schedule.schedule import Outside, Schedule
from agent.schedule.zone import UTC
from agent.tools.reminder import ReminderSetArguments
from tests.fakes.said import plainly
from tests.fakes.timer_run import TimerRun, context


class Reminded:
    """A book of reminders over new files."""

    def __init__(self, folder: Path, wall_s: float = 1_800_000_000.0) -> None:
        self.run = TimerRun(folder, wall_s)
        self.store = JobStore(folder / "jobs.json")
        jobs = JobBook(self.store, self.run.clock, lambda: UTC)
        self.book = ReminderBook(jobs, self.run.book, self.run.clock, reminder, lambda: UTC)


@pytest.fixture
def reminded(tmp_path: Path) -> Reminded:
    return Reminded(tmp_path)


async def test_after_a_time_it_is_a_timer(reminded: Reminded) -> None:
    wanted = ReminderSetArguments("take out the pizza", in_seconds=600)
    told = plainly(await reminded.book.remind(wanted, context()))
    assert (told["text"], told["left_seconds"]) == ("take out the pizza", 600)
    await reminded.run.go(610)
    assert reminded.run.said == ["Reminder: take out the pizza"]


async def test_a_missed_one_says_how_late_it_is(reminded: Reminded) -> None:
    wanted = ReminderSetArguments("die Pizza", in_seconds=600, language="de")
    await reminded.book.remind(wanted, context())
    reminded.run.reboot(900)
    await reminded.run.go(2)
    assert reminded.run.said == ["Erinnerung, etwa 5 min zu spät, weil ich aus war: die Pizza"]


async def test_at_a_time_it_is_a_job_with_its_words(reminded: Reminded) -> None:
    wanted = ReminderSetArguments("call Mei", at="20:00")
    told = plainly(await reminded.book.remind(wanted, context()))
    assert told == {"job": "reminder-1", "first": "2027-01-15T20:00+00:00", "text": "call Mei"}
    assert reminded.store.find("reminder-1").message == "Reminder: call Mei"


async def test_an_order_that_comes_again_is_a_turn(reminded: Reminded) -> None:
    wanted = ReminderSetArguments(order="turn on the led", every="day 07:00")
    told = plainly(await reminded.book.remind(wanted, context()))
    assert (told["job"], told["every"]) == ("order-1", "day 07:00")
    kept = reminded.store.find("order-1")
    assert (kept.prompt, kept.cron) == ("turn on the led", "0 7 * * *")
    wanted = ReminderSetArguments(order="water", every="30 minutes")
    again = plainly(await reminded.book.remind(wanted, context()))
    assert again["job"] == "order-2"
    assert reminded.store.find("order-2").every_s == 1800


async def test_one_that_was_missed_is_said_where_it_was_set(reminded: Reminded) -> None:
    await reminded.book.remind(ReminderSetArguments("call Mei", at="20:00"), context())
    said: list[str] = []

    async def perform(job: Job) -> str:
        said.append(job.message)
        return "delivered"

    async def tell(text: str) -> None:
        said.append(f"to the owner: {text}")

    outside = Outside(perform, tell, lambda: UTC, lambda _: True, late_reminder)
    for _ in range(3):
        reminded.run.clock.jump(2 * 86_400)
        async with asyncio.TaskGroup() as tasks:
            await Schedule(reminded.store, reminded.run.clock).look(outside, tasks)
    assert said == ["Reminder: call Mei (I was off when this was due.)"]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (ReminderSetArguments("tea"), "say when"),
        (ReminderSetArguments("tea", at="08:00", every="day 08:00"), "say when"),
        (ReminderSetArguments(at="08:00"), "say what"),
        (ReminderSetArguments("tea", "make tea", at="08:00"), "say what"),
    ],
)
async def test_one_time_and_one_thing(
    reminded: Reminded, wanted: ReminderSetArguments, said: str
) -> None:
    with pytest.raises(BadArguments, match=said):
        await reminded.book.remind(wanted, context())


async def test_before_the_clock_is_set_no_time_of_day_is_known(tmp_path: Path) -> None:
    reminded = Reminded(tmp_path, wall_s=1000.0)
    with pytest.raises(BadArguments, match="the clock is not set yet"):
        await reminded.book.remind(ReminderSetArguments("tea", at="08:00"), context())
    await reminded.book.remind(ReminderSetArguments("tea", in_seconds=60), context())
