import pytest
from msgspec.structs import replace

from agent.schedule.timer import CountdownTimer, Instant, TimerState, as_of, left_s, span

TIMER = CountdownTimer(number=1, seconds=600, channel="fake", target="chat", person="owner")
NOW = Instant(1_800_000_000.0, 1000.0, "one", is_trusted=True)


def at(wall_s: float, monotonic_s: float, boot: str = "one", *, trusted: bool = True) -> Instant:
    return Instant(NOW.wall_s + wall_s, monotonic_s, boot, trusted)


@pytest.mark.parametrize(
    ("now", "left"),
    [
        (at(0, 1100), 500),
        (at(-5000, 1100), 500),
        (at(300, 20, "two"), 300),
        (at(-300, 20, "two"), 580),
        (at(300, 20, "two", trusted=False), 580),
        # A machine that cannot tell its runs apart has been off where its clock went back
        (at(300, 20), 300),
    ],
)
def test_what_is_left_goes_by_the_clock_that_can_be_gone_by(now: Instant, left: float) -> None:
    assert left_s(as_of(TIMER, NOW, 600), now) == left


def test_a_timer_of_an_undated_time_goes_by_what_it_has_seen() -> None:
    undated = as_of(TIMER, replace(NOW, is_trusted=False), 600)
    assert left_s(undated, at(5000, 20, "two")) == 580


def test_a_paused_timer_keeps_what_is_left() -> None:
    paused = replace(as_of(TIMER, NOW, 100), state=TimerState.PAUSED)
    assert left_s(paused, at(5000, 6000)) == 100


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "0 s"), (59.6, "1 min"), (3900, "1 h 5 min"), (86_461, "24 h 1 min 1 s")],
)
def test_a_time_is_told_in_its_units(seconds: float, told: str) -> None:
    assert span(seconds) == told
