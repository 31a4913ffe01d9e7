from agent.access.admission import MAX_REMEMBERED, MAX_TOLD, TOLD_EVERY_S, Strangers
from tests.fakes.clock import SteppedClock


def test_each_is_told_once_an_hour() -> None:
    clock = SteppedClock()
    strangers = Strangers(clock)
    assert [strangers.note("a") for _ in range(3)] == [True, False, False]
    clock.advance(TOLD_EVERY_S)
    assert strangers.note("a")
    assert strangers.count == 4


def test_a_crowd_is_counted_and_mostly_not_told() -> None:
    clock = SteppedClock()
    strangers = Strangers(clock)
    told = [strangers.note(str(number)) for number in range(1000)]
    assert sum(told) == MAX_TOLD
    assert strangers.count == 1000
    assert len(strangers._told_s) == MAX_TOLD


def test_those_who_were_told_are_forgotten_in_the_end() -> None:
    clock = SteppedClock()
    strangers = Strangers(clock)
    for number in range(MAX_REMEMBERED + 10):
        assert strangers.note(str(number))
        clock.advance(TOLD_EVERY_S / MAX_TOLD)
    assert len(strangers._told_s) == MAX_REMEMBERED
