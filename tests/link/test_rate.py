import pytest

from agent.link.rate import (
    RATE_ANSWER_S,
    RATE_SILENCE_S,
    RATES,
    SETTLE_S,
    TRIAL_PING_S,
    LineRate,
    Rates,
    RateState,
    RateStep,
)

START, TOP = 115_200, 921_600


def offered() -> LineRate:
    rate = LineRate(Rates(START, TOP))
    assert rate.step(0.0) is RateStep.OFFER
    return rate


def raised() -> LineRate:
    rate = offered()
    rate.answered(TOP, 0.0)
    rate.heard(0.0)
    assert rate.state is RateState.RAISED
    return rate


@pytest.mark.parametrize(
    "rates", [Rates(), Rates(START, START), Rates(TOP, START), Rates(START, START + 1)]
)
def test_a_port_without_a_higher_rate_offers_none(rates: Rates) -> None:
    rate = LineRate(rates)
    assert rate.step(0.0) is RateStep.NOTHING
    assert (rate.baud, rate.due_at_s, rate.is_sure) == (rates.start, None, True)


def test_the_highest_rate_that_the_port_has_is_offered_once_and_everything_waits() -> None:
    rate = LineRate(Rates(START, 500_000))
    assert not rate.is_pending
    assert rate.step(0.0) is RateStep.OFFER
    assert rate.wanted_baud == 460_800
    assert rate.step(0.01) is RateStep.NOTHING
    assert rate.is_pending
    assert rate.baud == START


@pytest.mark.parametrize("baud", RATES)
def test_the_board_may_agree_to_less(baud: int) -> None:
    rate = offered()
    rate.answered(baud, 0.1)
    assert (rate.state, rate.baud) == (RateState.TRIED, baud)


@pytest.mark.parametrize("baud", [0, 9_600, START, 500_000, 2_000_000])
def test_an_answer_that_is_no_rate_for_us_leaves_the_line_as_it_is(baud: int) -> None:
    rate = offered()
    rate.answered(baud, 0.1)
    assert (rate.state, rate.baud, rate.is_pending) == (RateState.SETTLED, START, False)
    assert rate.step(9.0) is RateStep.NOTHING
    # It said no, or it has just gone where nobody follows
    assert rate.is_sure == (baud == 0)


def test_no_answer_is_a_no_and_a_late_one_changes_nothing() -> None:
    rate = offered()
    assert rate.due_at_s == RATE_ANSWER_S
    assert rate.step(RATE_ANSWER_S) is RateStep.NOTHING
    assert not rate.is_pending
    rate.answered(TOP, RATE_ANSWER_S + 0.01)
    assert rate.baud == START


def test_the_new_rate_is_tried_until_something_is_heard() -> None:
    rate = offered()
    rate.answered(TOP, 1.0)
    assert rate.due_at_s == 1.0 + SETTLE_S
    pings = 0
    while rate.state is RateState.TRIED and pings < 4:
        assert rate.due_at_s is not None
        pings += rate.step(rate.due_at_s) is RateStep.PING
    assert rate.is_pending
    assert rate.heard(1.5)
    assert (rate.state, rate.is_pending, rate.baud) == (RateState.RAISED, False, TOP)


def test_a_new_rate_at_which_nothing_is_heard_is_left_after_a_second() -> None:
    rate = offered()
    rate.answered(TOP, 1.0)
    steps = []
    while rate.due_at_s is not None:
        due_at_s = rate.due_at_s
        steps.append(rate.step(due_at_s))
    assert due_at_s == 1.0 + RATE_SILENCE_S
    # The last one already at the rate where the board may be by now
    assert steps == [RateStep.PING] * len(steps)
    assert len(steps) == pytest.approx(RATE_SILENCE_S / TRIAL_PING_S, abs=1)
    assert (rate.state, rate.baud) == (RateState.SETTLED, START)


def test_a_raised_rate_lasts_while_something_is_heard_every_second() -> None:
    rate = raised()
    for number in range(1, 10):
        assert rate.step(0.9 * number) is RateStep.NOTHING
        rate.heard(0.9 * number)
    assert rate.step(8.1 + RATE_SILENCE_S / 2) is RateStep.NOTHING
    assert rate.step(8.1 + RATE_SILENCE_S) is RateStep.PING
    assert rate.baud == START


def test_each_frame_puts_the_look_for_silence_off() -> None:
    rate = raised()
    for heard_s in (0.3, 0.6, 0.9):
        rate.heard(heard_s)
        assert rate.due_at_s == heard_s + RATE_SILENCE_S
    rate.excuse(5.0)
    assert rate.due_at_s == 5.0 + RATE_SILENCE_S


def test_a_board_that_said_it_would_be_silent_is_waited_for() -> None:
    rate = raised()
    rate.excuse(5.0)
    assert rate.step(5.0 + RATE_SILENCE_S / 2) is RateStep.NOTHING
    assert rate.step(5.0 + RATE_SILENCE_S) is RateStep.PING
    assert rate.baud == START


def test_it_is_known_where_the_board_is_only_once_it_is_heard_after_a_change() -> None:
    rate = offered()
    assert not rate.heard(0.1)
    rate.step(RATE_ANSWER_S)
    assert not rate.is_sure
    assert rate.heard(1.0)
    assert not rate.heard(1.1)
    rate = raised()
    rate.step(RATE_SILENCE_S)
    assert not rate.is_sure
    assert rate.heard(2.0)
