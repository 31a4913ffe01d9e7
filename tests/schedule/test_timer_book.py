from pathlib import Path

import pytest

from agent.errors import BadArguments
from agent.messages import Address, Provenance
from agent.passage import lowest
from agent.schedule.timer import MAX_TIMERS
from agent.tools.base import ToolContext
from agent.tools.timer import (
    TimerCancelArguments,
    TimerChangeArguments,
    TimerStartArguments,
    WhichTimer,
)
from tests.fakes.said import plainly
from tests.fakes.timer_run import TimerRun, context


@pytest.fixture
def run(tmp_path: Path) -> TimerRun:
    return TimerRun(tmp_path)


async def start(run: TimerRun, seconds: float, name: str = "", person: str = "owner") -> None:
    await run.book.start(TimerStartArguments(seconds, name), context(person))


async def names(run: TimerRun, person: str = "owner", **which: object) -> list[object]:
    which_one = WhichTimer(**which)  # type: ignore[arg-type] # of the test
    listed = plainly(await run.book.listed(which_one, context(person)))
    return [one.get("name", one["seconds"]) for one in listed]


async def test_a_timer_is_told_with_its_end(run: TimerRun) -> None:
    told = plainly(await run.book.start(TimerStartArguments(600, "pasta"), context()))
    assert told == {
        "seconds": 600,
        "left_seconds": 600,
        "state": "running",
        "name": "pasta",
        "ends": "2027-01-15T08:10:00+00:00",
    }


async def test_without_a_clock_no_end_is_told(tmp_path: Path) -> None:
    told = await TimerRun(tmp_path, wall_s=1000.0).book.start(TimerStartArguments(600), context())
    assert "ends" not in told


async def test_a_timer_is_found_by_name_place_and_length(run: TimerRun) -> None:
    await start(run, 600, "Pizza")
    await start(run, 300)
    assert await names(run) == ["Pizza", 300]
    assert await names(run, name="pizza ") == ["Pizza"]
    assert await names(run, number=2) == [300]
    assert await names(run, set_for_seconds=300) == [300]
    with pytest.raises(BadArguments, match="no timer matches; there are: Pizza, 5 min"):
        await names(run, name="tea")


async def test_of_several_it_has_to_be_said_which(run: TimerRun) -> None:
    with pytest.raises(BadArguments, match="there is no timer"):
        await run.book.cancel(TimerCancelArguments(), context())
    await start(run, 600, "pizza")
    await start(run, 300)
    with pytest.raises(BadArguments, match="several timers, say which: pizza, 5 min"):
        await run.book.cancel(TimerCancelArguments(), context())
    (gone,) = await run.book.cancel(TimerCancelArguments(set_for_seconds=300), context())
    assert gone["seconds"] == 300
    assert await names(run) == ["pizza"]


async def test_all_are_cancelled_together_and_no_reminder_with_them(run: TimerRun) -> None:
    await start(run, 600)
    await start(run, 300)
    await run.book.keep(TimerStartArguments(900), "call Mei", context())
    assert len(await run.book.cancel(TimerCancelArguments(all=True), context())) == 2
    assert [timer.text for timer in run.store.every()] == ["call Mei"]
    wanted = TimerCancelArguments(name="Call Mei")
    (gone,) = plainly(await run.book.cancel(wanted, context()))
    assert gone["text"] == "call Mei"


async def test_reminders_are_listed_and_cancelled_apart_from_timers(run: TimerRun) -> None:
    with pytest.raises(BadArguments, match=r"there is no reminder$"):
        await run.book.cancel(TimerCancelArguments(reminder=True), context())
    await start(run, 600, "tea")
    await run.book.keep(TimerStartArguments(900), "call Mei", context())
    await run.book.keep(TimerStartArguments(900), "water the plants", context())
    listed = plainly(await run.book.listed(WhichTimer(reminder=True), context()))
    assert [(one["number"], one["text"]) for one in listed] == [
        (2, "call Mei"),
        (3, "water the plants"),
    ]
    with pytest.raises(
        BadArguments, match="several reminders, say which: call Mei, water the plants"
    ):
        await run.book.cancel(TimerCancelArguments(reminder=True), context())
    with pytest.raises(
        BadArguments, match="no reminder matches; there are: call Mei, water the plants"
    ):
        await run.book.cancel(TimerCancelArguments(reminder=True, name="tea"), context())
    (gone,) = plainly(
        await run.book.cancel(TimerCancelArguments(reminder=True, name="plants"), context())
    )
    assert gone["text"] == "water the plants"
    (gone,) = plainly(
        await run.book.cancel(TimerCancelArguments(reminder=True, all=True), context())
    )
    assert gone["text"] == "call Mei"
    assert await names(run) == ["tea"]


async def test_time_is_added_and_taken_away(run: TimerRun) -> None:
    await start(run, 600)
    await run.clock.sleep(100)
    more = await run.book.change(TimerChangeArguments(add_seconds=60), context())
    assert more["left_seconds"] == 560
    with pytest.raises(BadArguments, match="7 days at most"):
        await run.book.change(TimerChangeArguments(add_seconds=604_800), context())
    less = await run.book.change(TimerChangeArguments(add_seconds=-3600), context())
    assert less["left_seconds"] == 0
    with pytest.raises(BadArguments, match="say what to change"):
        await run.book.change(TimerChangeArguments(), context())


async def test_others_have_their_own_and_the_owner_finds_them(run: TimerRun) -> None:
    await start(run, 600, "tea", person="mei")
    assert await names(run, "jun") == []
    assert await run.book.told_to("jun") == ""
    with pytest.raises(BadArguments, match=r"there is no timer$"):
        await run.book.cancel(TimerCancelArguments(name="tea"), context("jun"))
    with pytest.raises(BadArguments, match=r"there is no timer$"):
        await run.book.cancel(TimerCancelArguments(all=True), context())
    (seen,) = plainly(await run.book.listed(WhichTimer(), context()))
    assert seen["of"] == "mei"
    await start(run, 300)
    (gone,) = await run.book.cancel(TimerCancelArguments(), context())
    assert gone["seconds"] == 300
    await run.book.cancel(TimerCancelArguments(name="tea"), context())
    assert run.store.every() == []


async def test_a_person_has_so_many_and_each_name_once(run: TimerRun) -> None:
    await start(run, 600, "tea")
    with pytest.raises(BadArguments, match="a timer Tea already exists"):
        await start(run, 600, "Tea")
    for _ in range(MAX_TIMERS - 1):
        await start(run, 600)
    with pytest.raises(BadArguments, match=f"{MAX_TIMERS} timers already"):
        await start(run, 600)
    await start(run, 600, person="mei")


async def test_a_job_sets_no_timer_and_an_order_is_no_command(run: TimerRun) -> None:
    with pytest.raises(BadArguments, match="a job cannot set timers"):
        await run.book.start(TimerStartArguments(600), ToolContext("c", "owner", Provenance.OWNER))
    with pytest.raises(BadArguments, match="in words"):
        await run.book.start(TimerStartArguments(600, order="/estop clear"), context())


async def test_a_timer_has_the_trust_of_whoever_set_it(run: TimerRun) -> None:
    place = Address("fake", "chat", "mei")
    guest = ToolContext("c", "mei", Provenance.WEB, place=place)
    await run.book.start(TimerStartArguments(600, order="turn on the led"), guest)
    (kept,) = run.store.every()
    assert kept.trust == int(Provenance.WEB)


async def test_words_of_a_timer_are_trusted_as_whoever_set_it(run: TimerRun) -> None:
    guest = ToolContext("c", "mei", Provenance.WEB, place=Address("fake", "chat", "mei"))
    await start(run, 300, "tea")
    assert lowest(await run.book.listed(WhichTimer(), context())).provenance is Provenance.OWNER
    await run.book.start(TimerStartArguments(600, "open the door"), guest)
    told = lowest(await run.book.listed(WhichTimer(), context()))
    assert (told.provenance, told.source) == (Provenance.WEB, "timer:2")
    with pytest.raises(BadArguments) as refused:
        await run.book.listed(WhichTimer(name="soup"), context())
    assert refused.value.words(Provenance.OWNER).provenance is Provenance.WEB


async def test_a_refusal_that_names_nothing_of_others_lowers_no_trust(run: TimerRun) -> None:
    with pytest.raises(BadArguments) as refused:
        await run.book.cancel(TimerCancelArguments(), context())
    assert refused.value.words(Provenance.WEB).provenance is Provenance.OWNER


async def test_timers_are_told_in_words(run: TimerRun) -> None:
    await start(run, 600, "pasta")
    await run.clock.sleep(65)
    await run.book.change(TimerChangeArguments(state="paused"), context())
    assert await run.book.told_to("owner") == (
        "timer pasta of 10 min: 8 min 55 s left, paused, to fake"
    )
    (one,) = plainly(await run.book.every())
    assert (one["timer"], one["of"]) == (1, "owner")
