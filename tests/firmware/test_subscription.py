"""What is worth an event, also after more days than the counter of milliseconds tells apart."""

from collections.abc import Iterator
from typing import Any

import pytest

from agent.link import frame as wire
from agent.readings.rule_program import TICKS_PERIOD
from tests.firmware.node_on_cpython import node_module

LOW, HIGH, LEAST_MS = 10, 20, 50
DAY_MS = 86_400_000
# As often as the loop looks, if it had less to do
LOOK_MS = 60_000


@pytest.fixture
def subscription() -> Iterator[Any]:
    with node_module("subscription") as module:
        made = module.Subscription(0, 1, 0, wire.SUBSCRIBE_THRESHOLD)
        made.low, made.high, made.least_ms = LOW, HIGH, LEAST_MS
        made.begin(8, LOW, 0)
        yield made


@pytest.mark.parametrize("days", [1, 6, 7, 10, 13, 20])
def test_a_crossing_is_told_however_long_nothing_happened(subscription: Any, days: int) -> None:
    assert subscription.look(LOW, 0)
    for at_ms in range(LOOK_MS, days * DAY_MS, LOOK_MS):
        assert not subscription.look(LOW, at_ms % TICKS_PERIOD)
    assert subscription.look(HIGH, days * DAY_MS % TICKS_PERIOD)


def test_a_crossing_within_the_least_interval_is_told_after_it(subscription: Any) -> None:
    assert subscription.look(LOW, 0)
    assert not subscription.look(HIGH, LEAST_MS - 1)
    assert subscription.look(HIGH, LEAST_MS)


def test_what_happened_before_it_was_asked_for_is_no_event(subscription: Any) -> None:
    subscription.begin(8, LOW, 100)
    assert not subscription.look(HIGH, 99)
    assert subscription.look(HIGH, 100)
