"""No clock, or the clock jumps: what runs is listed exactly."""

from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.schedule.due import ClockReading, DueVerdict, looked_at
from agent.schedule.job import State
from tests.fakes.job_run import JobRun, job
from tests.fakes.jumping_clock import JumpingClock

BERLIN = ZoneInfo("Europe/Berlin")
HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
START = datetime(2026, 11, 21, 7, 30, 10, tzinfo=UTC)


def at(*when: int) -> float:
    return datetime(*when, tzinfo=BERLIN).timestamp()  # type: ignore[misc,arg-type]


def run_from(folder: Path, start_s: float, zone: ZoneInfo = BERLIN) -> JobRun:
    return JobRun(folder, JumpingClock(start_s), zone)


async def test_before_the_time_is_known_no_job_of_a_time_runs(tmp_path: Path) -> None:
    run = run_from(tmp_path, 100.0)
    run.store.add(job("daily", cron="0 8 * * *"))
    run.store.add(job("minute", cron="*/15 * * * *"))
    run.store.add(job("once", at_s=2 * HOUR_S))
    await run.go(DAY_S)
    assert (run.ran, run.told) == ([], [])


async def test_what_comes_at_intervals_needs_no_time_of_day(tmp_path: Path) -> None:
    run = run_from(tmp_path, 100.0)
    run.store.add(job("interval", every_s=6 * HOUR_S, created_s=100.0))
    await run.go(DAY_S)
    assert len(run.ran) == 3
    run.clock.jump(10 * 365 * DAY_S)
    await run.go(12 * HOUR_S)
    assert len(run.ran) == 5


async def test_a_jump_of_years_runs_a_job_once_and_back_again_starves_it_not(
    tmp_path: Path,
) -> None:
    run = run_from(tmp_path, at(2026, 11, 21, 7, 30))
    run.store.add(job(cron="0 * * * *", seen_s=run.clock.wall_s()))
    await run.go(HOUR_S)
    run.clock.jump(3652 * DAY_S)
    await run.go(HOUR_S)
    run.clock.jump(-3652 * DAY_S)
    await run.go(2 * HOUR_S)
    assert run.times() == [
        "11-21 08:00",
        "11-20 08:30",
        "11-20 09:00",
        "11-21 10:00",
        "11-21 11:00",
    ]


async def test_a_jump_back_runs_nothing_twice(tmp_path: Path) -> None:
    run = run_from(tmp_path, at(2026, 11, 21, 7, 30))
    run.store.add(job(cron="0 * * * *", seen_s=run.clock.wall_s()))
    await run.go(3 * HOUR_S)
    run.clock.jump(-2 * HOUR_S)
    await run.go(4 * HOUR_S)
    assert run.times() == [
        "11-21 08:00",
        "11-21 09:00",
        "11-21 10:00",
        "11-21 11:00",
        "11-21 12:00",
    ]


async def test_the_clock_goes_forward_in_spring(tmp_path: Path) -> None:
    run = run_from(tmp_path, at(2027, 3, 27, 12, 0))
    run.store.add(job(cron="30 2 * * *", seen_s=run.clock.wall_s()))
    await run.go(2 * DAY_S)
    assert run.times() == ["03-28 03:00", "03-29 02:30"]


async def test_the_clock_goes_back_in_autumn(tmp_path: Path) -> None:
    run = run_from(tmp_path, at(2026, 10, 24, 12, 0))
    run.store.add(job(cron="30 2 * * *", seen_s=run.clock.wall_s()))
    await run.go(2 * DAY_S)
    assert run.times() == ["10-25 02:30", "10-26 02:30"]


async def test_a_miss_is_told_also_after_the_clock_went_back_over_a_run(tmp_path: Path) -> None:
    run = run_from(tmp_path, at(2026, 11, 21, 7, 30))
    run.store.add(job("daily", cron="0 8 * * *", seen_s=run.clock.wall_s()))
    await run.go(HOUR_S)
    run.clock.jump(-HOUR_S)
    await run.go(HOUR_S / 4)
    # Off over the run that there was and over two that there should have been
    run.clock.jump(2 * DAY_S + 4 * HOUR_S)
    run.restart()
    await run.go(HOUR_S)
    assert run.times() == ["11-21 08:00"]
    assert run.told == ["I missed the time of the job daily and did not run it."]


async def test_what_ran_before_the_clock_went_back_is_not_told_as_missed(tmp_path: Path) -> None:
    run = run_from(tmp_path, at(2026, 11, 21, 7, 30))
    run.store.add(job("daily", cron="0 8 * * *", seen_s=run.clock.wall_s()))
    await run.go(HOUR_S)
    run.clock.jump(-HOUR_S)
    await run.go(HOUR_S / 4)
    run.clock.jump(6 * HOUR_S)
    run.restart()
    await run.go(HOUR_S)
    assert (run.times(), run.told) == (["11-21 08:00"], [])


async def test_after_a_day_without_power_nothing_is_made_up_for(tmp_path: Path) -> None:
    run = run_from(tmp_path, at(2026, 11, 21, 7, 30))
    run.store.add(job("daily", cron="0 8 * * *", seen_s=run.clock.wall_s()))
    run.store.add(job("hourly", cron="0 * * * *", seen_s=run.clock.wall_s()))
    await run.go(HOUR_S)
    run.clock.jump(DAY_S + 2 * HOUR_S)
    run.restart()
    await run.go(HOUR_S)
    assert [name for name, _ in run.ran] == ["daily", "hourly", "hourly", "hourly"]
    assert run.times()[2:] == ["11-22 10:30", "11-22 11:00"]
    # Of the one that was not made up for a person hears, once
    run.restart()
    await run.go(HOUR_S)
    assert run.told == ["I missed the time of the job daily and did not run it."]
    assert run.store.find("daily").result == "its time had passed before the agent looked: not run"


async def test_one_time_is_kept_late_within_an_hour_and_told_of_beyond(tmp_path: Path) -> None:
    run = run_from(tmp_path, at(2026, 11, 21, 7, 30))
    run.store.add(job("late", at_s=at(2026, 11, 21, 9, 0)))
    run.store.add(job("lost", at_s=at(2026, 11, 21, 8, 0)))
    run.clock.jump(2 * HOUR_S)
    await run.go(HOUR_S)
    run.restart()
    await run.go(HOUR_S)
    assert [name for name, _ in run.ran] == ["late"]
    assert run.store.find("late").state is State.DONE
    assert run.told == ["I missed the time of the job lost and did not run it."]
    run.clock.jump(-4 * HOUR_S)
    await run.go(HOUR_S)
    assert [name for name, _ in run.ran] == ["late", "lost"]


@given(
    st.lists(
        st.tuples(st.integers(-30 * 3600, 30 * 3600), st.integers(0, 6 * 3600)),
        max_size=6,
    ),
    st.sampled_from(["0 * * * *", "*/20 * * * *", "30 2 * * *", "0 8,20 * * *"]),
)
@settings(max_examples=60, deadline=None)
def test_no_time_runs_twice_and_none_is_waited_for_in_vain(
    jumps: list[tuple[int, int]], cron: str
) -> None:
    wall_s, monotonic_s = START.timestamp(), 0.0
    one = job(cron=cron, seen_s=wall_s)
    ran: list[float] = []
    # The last stretch is longer than all the jumps and a day
    rest_s = int(sum(abs(by_s) + long_s for by_s, long_s in jumps) + 2 * DAY_S)
    for by_s, long_s in [*jumps, (0, rest_s)]:
        wall_s += by_s
        count = len(ran)
        for _ in range(0, long_s, 300):
            verdict, one = looked_at(one, ClockReading(wall_s, monotonic_s, BERLIN), 0.0)
            if verdict is DueVerdict.RUN:
                ran.append(one.stretches[-1][1])
                assert wall_s - ran[-1] <= HOUR_S
            wall_s, monotonic_s = wall_s + 300, monotonic_s + 300
    assert len(set(ran)) == len(ran)
    assert len(ran) > count
    assert all(later > earlier for earlier, later in pairwise(ran[count:]))
