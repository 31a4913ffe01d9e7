from pathlib import Path

import pytest

from agent.errors import StorageFull
from agent.schedule.timer import MAX_SECONDS
from agent.tools.timer import TimerChangeArguments, TimerStartArguments
from tests.fakes.timer_run import TimerRun, context


@pytest.fixture
def run(tmp_path: Path) -> TimerRun:
    return TimerRun(tmp_path)


async def start(run: TimerRun, seconds: float, name: str = "", **more: str) -> None:
    await run.book.start(TimerStartArguments(seconds, name, **more), context())


async def test_a_timer_says_that_it_is_over_once(run: TimerRun) -> None:
    await start(run, 60, "tea")
    await run.go(59)
    assert run.said == []
    await run.go(120)
    assert run.said == ["Your timer “tea” (1 min) has ended."]
    assert run.store.every() == []


async def test_what_it_says_is_in_the_language_of_whoever_set_it(run: TimerRun) -> None:
    await start(run, 90, "Tee", language="de")
    await start(run, 90, language="tlh")
    await run.go(120)
    german = "Timer „Tee“ (1 min 30 s): Die Zeit ist um."
    assert run.said == [german, "Your 1 min 30 s timer has ended."]


async def test_a_restart_of_the_agent_changes_nothing(run: TimerRun) -> None:
    await start(run, 60)
    await run.go(30)
    run.restart()
    run.clock.jump(7200)
    await run.go(29)
    assert run.said == []
    await run.go(3)
    assert run.said == ["Your 1 min timer has ended."]


async def test_an_end_in_the_time_of_a_power_cut_is_told_as_missed(run: TimerRun) -> None:
    await start(run, 600, "pasta")
    await run.go(60)
    run.reboot(720)
    await run.go(2)
    assert run.said == ["Your timer “pasta” (10 min) ended about 3 min ago, while I was off."]


async def test_a_clock_that_stood_still_is_gone_by_once_it_is_set(run: TimerRun) -> None:
    await start(run, 600)
    run.reboot(400, clock_lost_s=400)
    await run.go(100)
    assert run.said == []
    run.clock.jump(400)
    await run.go(90)
    assert run.said == []
    await run.go(15)
    assert run.said == ["Your 10 min timer has ended."]


async def test_without_any_clock_it_ends_no_later_than_its_time_after_the_start(
    tmp_path: Path,
) -> None:
    run = TimerRun(tmp_path, wall_s=100_000.0)
    await start(run, 600)
    run.reboot(300)
    await run.go(590)
    assert run.said == []
    await run.go(10)
    assert run.said == ["Your 10 min timer has ended."]


async def test_a_clock_that_is_set_does_not_end_a_timer(run: TimerRun) -> None:
    await start(run, 600)
    run.clock.jump(10 * 365 * 86_400)
    await run.go(500)
    run.clock.jump(-20 * 365 * 86_400)
    await run.go(90)
    assert run.said == []


async def test_an_order_is_begun_and_not_again(run: TimerRun) -> None:
    await start(run, 60, order="turn on the led")
    await run.go(120)
    run.restart()
    await run.go(120)
    assert (run.begun, run.said) == (["turn on the led"], [])


async def test_an_order_whose_time_is_long_over_is_told_and_not_done(run: TimerRun) -> None:
    await start(run, 60, order="turn on the led")
    run.reboot(660)
    await run.go(2)
    assert run.begun == []
    assert run.said == [
        "This was due about 10 min ago, but I was off and did not do it: turn on the led"
    ]


async def test_a_paused_timer_waits_over_a_power_cut(run: TimerRun) -> None:
    await start(run, 60)
    await run.go(20)
    await run.book.change(TimerChangeArguments(state="paused"), context())
    run.reboot(3600)
    await run.go(100)
    assert run.said == []
    (left,) = [timer.left_s for timer in run.store.every()]
    assert left == pytest.approx(40)
    await run.book.change(TimerChangeArguments(state="running"), context())
    await run.go(45)
    assert run.said == ["Your 1 min timer has ended."]


async def test_what_cannot_be_delivered_is_told_to_the_owner(run: TimerRun) -> None:
    run.refusal = "the channel is deaf"
    await start(run, 60)
    await run.go(120)
    assert run.told == ["Your 1 min timer has ended. (the channel is deaf)"]
    assert run.store.every() == []


async def test_a_timer_that_cannot_be_removed_is_said_once(
    run: TimerRun, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_number: int) -> bool:
        raise StorageFull("the disk is full")

    await start(run, 60)
    monkeypatch.setattr(run.store, "remove", full)
    await run.go(300)
    assert run.said == ["Your 1 min timer has ended."]
    assert "removal failed" in caplog.text


async def test_the_longest_timer_comes(run: TimerRun) -> None:
    await start(run, MAX_SECONDS)
    await run.go(MAX_SECONDS + 60, step_s=30)
    assert len(run.said) == 1


async def test_a_file_that_cannot_be_read_for_a_while_ends_nothing(
    run: TimerRun, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await start(run, 60)
    path, kept = tmp_path / "timers.json", tmp_path / "kept"
    path.rename(kept)
    # Reading it fails as on a card that is worn
    path.mkdir()
    await run.go(30)
    path.rmdir()
    kept.rename(path)
    await run.go(40)
    assert run.said == ["Your 1 min timer has ended."]
    assert caplog.text.count("timers not read") == 1
