"""When a new version counts as healthy."""

from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from pathlib import Path

import pytest

from agent.update.probation import (
    FRESH_S,
    HEALTHY_S,
    LOOK_S,
    MAX_RESTARTS,
    MOST_S,
    Health,
    Sign,
    TrialVerdict,
    failed_units,
    judge,
    look_at_service,
    sign_of,
)
from tests.fakes.clock import SteppedClock

GOOD = Sign(Health.HEALTHY, "healthy")
AWAY = Sign(Health.UNSETTLED, "barnacle.service is activating")
BAD = Sign(Health.BROKEN, "barnacle.service failed")
ACTIVE = {"ActiveState": "active", "NRestarts": "0", "WatchdogTimestampMonotonic": "90000000"}


async def judged(signs: Iterable[Sign]) -> tuple[TrialVerdict, float]:
    """What comes of it, and after how long."""
    clock = SteppedClock()
    coming: Iterator[Sign] = iter(signs)
    verdict = await judge(lambda: next(coming), clock)
    return verdict, clock.monotonic_s()


async def test_ten_healthy_minutes_are_enough() -> None:
    verdict, after_s = await judged(repeat(GOOD))
    assert verdict.is_kept
    assert after_s == HEALTHY_S


async def test_what_fails_is_given_up_at_once() -> None:
    verdict, after_s = await judged(chain([AWAY, GOOD], repeat(BAD)))
    assert verdict == TrialVerdict(is_kept=False, reason="barnacle.service failed")
    assert after_s == 2 * LOOK_S


@pytest.mark.parametrize("between", [AWAY, Sign(Health.HEALTHY, "healthy", restarts=1)])
async def test_a_break_begins_the_ten_minutes_anew(between: Sign) -> None:
    after = Sign(Health.HEALTHY, "healthy", between.restarts)
    verdict, after_s = await judged(chain([GOOD] * 30, [between], repeat(after)))
    assert verdict.is_kept
    assert after_s >= HEALTHY_S + 30 * LOOK_S


async def test_a_slow_start_has_the_time_of_a_large_database() -> None:
    verdict, after_s = await judged(chain([AWAY] * 180, repeat(GOOD)))
    assert verdict.is_kept
    assert after_s == 180 * LOOK_S + HEALTHY_S


async def test_what_never_settles_is_given_up_within_the_hour() -> None:
    verdict, after_s = await judged(repeat(AWAY))
    assert verdict.reason == "not healthy for long enough: barnacle.service is activating"
    assert after_s == MOST_S


async def test_what_is_begun_again_and_again_is_given_up() -> None:
    looks = [Sign(Health.HEALTHY, "healthy", restarts=number // 5) for number in range(100)]
    verdict, _ = await judged(looks)
    assert verdict.reason == f"barnacle.service had to be restarted {MAX_RESTARTS + 1} times"


def test_an_active_service_that_has_looked_at_itself_is_healthy() -> None:
    assert sign_of(ACTIVE, [], 95.0).health is Health.HEALTHY


def test_one_that_has_not_looked_for_long_is_not() -> None:
    sign = sign_of(ACTIVE, [], 90.0 + FRESH_S + 1)
    assert sign.health is Health.UNSETTLED
    assert "has not checked itself for 46 s" in sign.said


@pytest.mark.parametrize("state", ["activating", "deactivating", "inactive", "failed"])
def test_one_that_is_not_active_is_not_healthy(state: str) -> None:
    shown = ACTIVE | {"ActiveState": state, "SubState": "x", "Result": "y", "NRestarts": "2"}
    assert sign_of(shown, [], 95.0) == Sign(
        Health.UNSETTLED, f"barnacle.service is {state} (x, y)", 2
    )


def test_a_unit_of_ours_that_failed_is_the_end() -> None:
    sign = sign_of(ACTIVE, ["barnacle.service", "barnacle-data.service"], 95.0)
    assert sign.health is Health.BROKEN
    assert sign.said == "barnacle.service, barnacle-data.service failed"


def test_what_had_failed_before_the_trial_says_nothing_about_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "systemctl"
    program.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        "*list-units*) echo 'barnacle-provision.service loaded failed failed Settings' ;;\n"
        "*) printf 'ActiveState=active\\nNRestarts=0\\nWatchdogTimestampMonotonic=%s000000' "
        "$(cut -d. -f1 /proc/uptime) ;;\nesac\n"
    )
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert failed_units() == ["barnacle-provision.service"]
    assert look_at_service().health is Health.BROKEN
    assert look_at_service(["barnacle-provision.service"]).health is Health.HEALTHY


def test_a_service_manager_that_says_nothing_is_no_health() -> None:
    assert sign_of({}, [], 95.0).health is Health.UNSETTLED
