from agent.link.arq import (
    RTO_INITIAL_S,
    RTO_MAX_S,
    RTO_MIN_S,
    RetransmissionTimer,
)


def test_nothing_measured_yet() -> None:
    assert RetransmissionTimer().rto_s == RTO_INITIAL_S


def test_the_first_round_trip_gives_three_times_itself() -> None:
    timer = RetransmissionTimer()
    timer.sample(0.1)
    assert abs(timer.rto_s - 0.3) < 1e-9


def test_a_steady_quick_line_ends_at_the_minimum() -> None:
    timer = RetransmissionTimer()
    for _ in range(50):
        timer.sample(0.005)
    assert timer.rto_s == RTO_MIN_S


def test_a_slow_line_never_exceeds_the_maximum() -> None:
    timer = RetransmissionTimer()
    timer.sample(30.0)
    assert timer.rto_s == RTO_MAX_S


def test_variation_lengthens_the_timeout() -> None:
    steady, shaky = RetransmissionTimer(), RetransmissionTimer()
    for n in range(40):
        steady.sample(0.1)
        shaky.sample(0.05 if n % 2 else 0.15)
    assert shaky.rto_s > steady.rto_s


def test_backing_off_doubles_up_to_the_maximum_and_a_sample_ends_it() -> None:
    timer = RetransmissionTimer()
    timer.back_off()
    assert timer.rto_s == 2 * RTO_INITIAL_S
    for _ in range(5):
        timer.back_off()
    assert timer.rto_s == RTO_MAX_S
    timer.sample(0.01)
    assert timer.rto_s < RTO_INITIAL_S
