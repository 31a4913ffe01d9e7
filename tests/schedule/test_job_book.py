import json
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from agent.errors import BadArguments
from agent.messages import Address, Effect, Provenance
from agent.passage import fields
from agent.schedule.job import State
from agent.schedule.job_book import JobBook
from agent.schedule.job_store import JobStore
from agent.tools.base import ToolContext
from agent.tools.cron import CronAddArguments, cron_tools
from tests.fakes.job_run import JobRun
from tests.fakes.jumping_clock import JumpingClock

BERLIN = ZoneInfo("Europe/Berlin")
NOW_S = datetime(2026, 11, 21, 7, 30, tzinfo=BERLIN).timestamp()
PLACE = Address("fake", "chat", "4711", "topic")
CONTEXT = ToolContext("c", "owner", Provenance.OWNER, place=PLACE)


@pytest.fixture
def store(tmp_path: Path) -> JobStore:
    return JobStore(tmp_path / "jobs.json")


@pytest.fixture
def book(store: JobStore) -> JobBook:
    return JobBook(store, JumpingClock(NOW_S), lambda: BERLIN)


@pytest.mark.parametrize(
    ("when", "first"),
    [
        ({"cron": "0 8 * * *"}, "2026-11-21T08:00+01:00"),
        ({"at": "2026-11-22T06:00"}, "2026-11-22T06:00+01:00"),
        ({"at": "2026-11-22T06:00Z"}, "2026-11-22T07:00+01:00"),
        ({"every_minutes": 15}, "2026-11-21T07:45+01:00"),
    ],
)
async def test_a_job_says_when_it_runs_first(
    book: JobBook, when: dict[str, object], first: str
) -> None:
    wanted = CronAddArguments("tea", message="Tea!", **when)  # type: ignore[arg-type]
    assert (await book.add(wanted, CONTEXT)).text == first


@pytest.mark.parametrize(
    ("when", "why"),
    [
        ({"cron": "* * * * *"}, "96 times a day"),
        ({"cron": "8 o'clock"}, "five fields"),
        ({"cron": "0 8 * * 9"}, "bad day-of-week"),
        ({"every_minutes": 5}, "96 times a day"),
        ({"at": "2026-11-21T07:00"}, "has passed; it is 2026-11-21T07:30"),
        ({"at": "tomorrow"}, "is not a time"),
        # No calendar west of Greenwich shows it
        ({"at": "9999-12-31T23:59-05:00"}, "between 1970 and 9999"),
        ({"at": "0001-01-01T00:00"}, "between 1970 and 9999"),
        ({}, "say when"),
    ],
)
async def test_what_makes_no_sense_is_refused_and_not_kept(
    book: JobBook, store: JobStore, when: dict[str, object], why: str
) -> None:
    with pytest.raises(BadArguments, match=why):
        await book.add(CronAddArguments("tea", message="x", **when), CONTEXT)  # type: ignore[arg-type]
    assert store.every() == []


async def test_a_job_trusts_no_more_than_the_turn_that_made_it(
    book: JobBook, store: JobStore
) -> None:
    web = ToolContext("c", "owner", Provenance.WEB, place=PLACE, is_group=True)
    await book.add(CronAddArguments("tea", every_minutes=60, prompt="Water"), web)
    job = store.find("tea")
    assert (job.trust, job.person, job.is_group) == (0, "owner", True)
    assert Address(job.channel, job.target, job.sender, job.thread) == PLACE


async def test_no_job_is_made_where_nobody_speaks(book: JobBook) -> None:
    with pytest.raises(BadArguments, match="in a conversation"):
        await book.add(
            CronAddArguments("tea", every_minutes=60, prompt="Again"),
            ToolContext("c", "owner", Provenance.OWNER),
        )


async def test_a_job_is_paused_resumed_run_and_removed(book: JobBook, store: JobStore) -> None:
    await book.add(CronAddArguments("tea", cron="0 8 * * *", message="Tea!"), CONTEXT)
    await book.pause("tea", "owner", is_paused=True)
    assert store.find("tea").state is State.PAUSED
    await book.pause("tea", "owner", is_paused=False)
    await book.run("tea", "owner")
    assert (store.find("tea").state, store.find("tea").run_now) == (State.WAITING, True)
    (listed,) = await book.listed("owner")
    assert json.loads(fields(listed).text) == {
        "name": "tea",
        "state": "waiting",
        "cron": "0 8 * * *",
        "message": "Tea!",
        "next": "2026-11-21T07:30+01:00",
    }
    await book.remove("tea", "owner")
    with pytest.raises(BadArguments, match="there are none"):
        await book.run("tea", "owner")


async def test_nobody_but_the_owner_learns_of_what_others_ordered(book: JobBook) -> None:
    mei = ToolContext("c", "mei", Provenance.USER, place=PLACE)
    await book.add(CronAddArguments("tea", cron="0 8 * * *", message="Tea!"), CONTEXT)
    await book.add(CronAddArguments("bus", every_minutes=60, message="Bus!"), mei)
    assert [str(one["name"]) for one in await book.listed("mei")] == ["bus"]
    assert [str(one["name"]) for one in await book.listed("owner")] == ["bus", "tea"]
    # Whoever lists it: a job is no more than the word of whoever ordered it
    assert [fields(one).provenance for one in await book.listed("owner")] == [
        Provenance.USER,
        Provenance.OWNER,
    ]
    assert "Tea!" not in await book.told_to("mei")
    for forbidden in (book.remove, book.run):
        with pytest.raises(BadArguments, match="no job 'tea': there are bus"):
            await forbidden("tea", "mei")
    await book.remove("bus", "owner")


async def test_the_heartbeat_is_written_into_its_file(book: JobBook) -> None:
    with pytest.raises(BadArguments, match="edit that file instead"):
        await book.add(CronAddArguments("heartbeat", every_minutes=60, message="x"), CONTEXT)
    with pytest.raises(BadArguments, match="is empty"):
        await book.remove("heartbeat", "owner")


async def test_whoever_runs_the_jobs_hears_of_each_change(store: JobStore) -> None:
    changes: list[bool] = []
    book = JobBook(store, JumpingClock(NOW_S), lambda: BERLIN, lambda: changes.append(True))
    await book.add(CronAddArguments("tea", cron="0 8 * * *", message="Tea!"), CONTEXT)
    await book.run("tea", "owner")
    assert len(changes) == 2


async def test_each_tool_answers_what_is_not_there_in_words(book: JobBook) -> None:
    for tool in cron_tools(book):
        if tool.name in {"cron_add", "cron_list"}:
            continue
        assert tool.effect is Effect.WRITE
        result = await tool.execute(tool.parse('{"name": "tea"}'), CONTEXT)
        assert (result.success, result.text) == (False, "there is no job 'tea': there are none")


async def test_a_job_of_a_time_before_the_clock_was_set_was_not_missed(
    tmp_path: Path,
) -> None:
    run = JobRun(tmp_path, JumpingClock(100_000.0), BERLIN)
    book = JobBook(run.store, run.clock, lambda: BERLIN)
    await book.add(CronAddArguments("tea", cron="0 8 * * *", message="Tea!"), CONTEXT)
    await book.add(CronAddArguments("milk", cron="0 9 * * *", message="Milk!"), CONTEXT)
    await book.pause("milk", "owner", is_paused=True)
    await book.pause("milk", "owner", is_paused=False)
    await run.go(60)
    run.clock.jump(NOW_S - run.clock.wall_s())
    await run.go(2 * 3600)
    assert run.told == []
    assert run.times() == ["11-21 08:00", "11-21 09:00"]
