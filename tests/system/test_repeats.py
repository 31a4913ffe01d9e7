import logging

import pytest

from agent.system.repeats import MOST_TEXTS, OVER_AFTER_S, REPEAT_EVERY_S, RepeatedTrouble

_LOG = logging.getLogger("tests.repeats")
FULL = "storage: write postponed: the disk is full"


class Hands:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.at_s = 0.0

    def now_s(self) -> float:
        return self.at_s


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def trouble(hands: Hands) -> RepeatedTrouble:
    return RepeatedTrouble(_LOG, hands.now_s)


@pytest.fixture(autouse=True)
def _log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def test_it_is_said_once_and_then_how_often(
    trouble: RepeatedTrouble, hands: Hands, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(300):
        trouble.met(FULL)
        hands.at_s += 3
    # 900 s: at once, and once more after ten minutes
    assert caplog.messages == [FULL, f"199 more times in 10 min: {FULL}", FULL]


def test_another_trouble_is_said_at_once_and_each_has_its_own_count(
    trouble: RepeatedTrouble, hands: Hands, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(5):
        trouble.met(FULL)
        trouble.met("the card is read-only")
    assert caplog.messages == [FULL, "the card is read-only"]
    hands.at_s += OVER_AFTER_S
    trouble.over()
    assert caplog.messages[2:] == [
        f"4 more times in 1 min: {FULL}",
        "4 more times in 1 min: the card is read-only",
    ]


def test_texts_without_end_are_not_all_kept(
    trouble: RepeatedTrouble, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(1000):
        trouble.met(f"file {number} is full")
    assert len(trouble._told) == MOST_TEXTS
    assert len(caplog.messages) == 1000


def test_its_end_says_how_often_it_came(
    trouble: RepeatedTrouble, hands: Hands, caplog: pytest.LogCaptureFixture
) -> None:
    trouble.over()
    for _ in range(43):
        trouble.met(FULL)
    hands.at_s += OVER_AFTER_S
    trouble.over()
    trouble.over()
    assert caplog.messages == [FULL, f"42 more times in 1 min: {FULL}"]
    trouble.met(FULL)
    assert caplog.messages[-1] == FULL


def test_a_state_that_comes_and_goes_is_one_state(
    trouble: RepeatedTrouble, hands: Hands, caplog: pytest.LogCaptureFixture
) -> None:
    while hands.at_s < OVER_AFTER_S - 1:
        trouble.met(FULL)
        trouble.over()
        hands.at_s += 1
    assert caplog.messages == [FULL]


def test_it_is_told_as_grave_as_it_is(
    trouble: RepeatedTrouble, hands: Hands, caplog: pytest.LogCaptureFixture
) -> None:
    trouble.met(FULL, logging.ERROR)
    hands.at_s += REPEAT_EVERY_S
    trouble.met(FULL, logging.ERROR)
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
