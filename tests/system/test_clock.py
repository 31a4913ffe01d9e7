import pytest

from agent.system.clock import SHARED_S, rest
from tests.fakes.clock import SteppedClock


@pytest.mark.parametrize(
    ("now_s", "at_most_s", "slept_s"),
    [
        pytest.param(0.0, 2.0, 2.0, id="begun at a shared moment"),
        pytest.param(7.25, 2.0, 0.75, id="the next one"),
        pytest.param(7.25, 30.0, 28.75, id="the last one within the time"),
        pytest.param(1.99, 2.0, 2.01, id="a timer that rang too early"),
        pytest.param(6.5, 0.5, 0.5, id="none within the time"),
    ],
)
async def test_a_rest_goes_on_to_a_shared_moment(
    now_s: float, at_most_s: float, slept_s: float
) -> None:
    clock = SteppedClock()
    clock.advance(now_s)
    await rest(clock, at_most_s)
    assert clock.slept_s == [pytest.approx(slept_s)]


async def test_looks_that_began_apart_share_their_moments() -> None:
    clock = SteppedClock()
    woken_s = []
    for begun_s in (0.1, 0.7, 1.5):
        clock.advance(begun_s - clock.monotonic_s() % SHARED_S)
        await rest(clock, SHARED_S)
        woken_s.append(clock.monotonic_s() % SHARED_S)
    assert woken_s == [pytest.approx(0.0, abs=1e-6)] * 3
