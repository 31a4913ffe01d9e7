import pytest

from agent.system.clock import SystemClock, rest
from tests.fakes.clock import SteppedClock


@pytest.mark.parametrize(
    ("now_s", "duration_s", "slept_s"), [(0.0, 2.0, 2.0), (0.25, 2.0, 2.75), (7.5, 0.5, 0.5)]
)
async def test_a_rest_goes_on_to_a_whole_second(
    now_s: float, duration_s: float, slept_s: float
) -> None:
    clock = SteppedClock()
    clock.advance(now_s)
    await rest(clock, duration_s)
    assert clock.slept_s == [slept_s]


async def test_rests_that_begin_apart_end_together() -> None:
    clock = SystemClock()
    await rest(clock, 0.01)
    assert clock.monotonic_s() % 1.0 < 0.5
