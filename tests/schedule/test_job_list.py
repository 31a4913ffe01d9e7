from datetime import UTC, datetime

from agent.schedule.job import State
from agent.schedule.job_list import summed_up, told
from tests.fakes.job_run import job

NOW_S = datetime(2026, 11, 21, 7, 30, tzinfo=UTC).timestamp()


def test_jobs_are_told_with_when_they_run_and_what_came_of_them() -> None:
    jobs = [
        job(cron="0 8 * * *", result="delivered", ran_s=NOW_S - 84600),
        job("b", every_s=5400.0, created_s=NOW_S),
        job("c", at_s=NOW_S - 60, state=State.DONE, ran_s=NOW_S - 60, result="failed: deaf"),
        job("d", at_s=NOW_S + 60, state=State.PAUSED),
    ]
    assert told(jobs, NOW_S, UTC).splitlines() == [
        "tea: at 0 8 * * *, waiting, to fake: Tea!",
        "  next at 2026-11-21 08:00",
        "  last at 2026-11-20 08:00: delivered",
        "b: every 90 min, waiting, to fake: Tea!",
        "  next at 2026-11-21 09:00",
        "c: at 2026-11-21 07:29, done, to fake: Tea!",
        "  last at 2026-11-21 07:29: failed: deaf",
        "d: at 2026-11-21 07:31, paused, to fake: Tea!",
    ]


def test_jobs_are_summed_up_with_the_next_one_and_those_that_failed() -> None:
    jobs = [
        job("b", every_s=5400.0, created_s=NOW_S),
        job(cron="0 8 * * *", failures=1),
        job("d", at_s=NOW_S + 60, state=State.PAUSED, failures=3),
    ]
    said = "2 of 3 waiting, next tea at 2026-11-21 08:00; failed last: tea, d"
    assert summed_up(jobs, NOW_S, UTC) == said
    assert summed_up(jobs[2:], NOW_S, UTC) == "0 of 1 waiting; failed last: d"
    assert summed_up([], NOW_S) == ""


def test_that_there_are_none_is_told() -> None:
    assert told([], NOW_S) == "There are no jobs."


def test_what_a_job_says_moves_no_cursor_and_fills_no_screen() -> None:
    said = told([job(every_s=60.0, message="\x1b[2J" + "a\n" * 900)], NOW_S)
    assert "\x1b" not in said
    assert len(said) < 300


FIVE_FIELDS = (
    "'30 7 * * * *' is not a cron expression: it needs five fields, minute hour day month weekday, "
    "such as 30 7 * * 1-5 for 07:30 on working days"
)


def test_a_slip_in_the_file_hides_no_other_job() -> None:
    jobs = [job("a", cron="30 7 * * * *"), job("b", cron="0 25 * * *"), job(cron="0 8 * * *")]
    assert told(jobs, NOW_S, UTC).splitlines() == [
        "a: at 30 7 * * * *, waiting, to fake: Tea!",
        f"  {FIVE_FIELDS}",
        "b: at 0 25 * * *, waiting, to fake: Tea!",
        "  '0 25 * * *' is not a cron expression: bad hour",
        "tea: at 0 8 * * *, waiting, to fake: Tea!",
        "  next at 2026-11-21 08:00",
    ]
    assert summed_up(jobs, NOW_S, UTC) == "1 of 3 waiting, next tea at 2026-11-21 08:00"
