from agent.access.pairing_codes import (
    FIRST_WAIT_S,
    FORGOTTEN_AFTER_S,
    FREE_TRIES,
    FREE_TRIES_OF_ALL,
    LONGEST_WAIT_OF_ALL_S,
    LONGEST_WAIT_S,
    MAX_REMEMBERED,
    Attempts,
)
from tests.fakes.clock import SteppedClock


def test_who_mistypes_waits_longer_each_time() -> None:
    clock = SteppedClock()
    attempts = Attempts(clock)
    waits = []
    for _ in range(FREE_TRIES + 12):
        attempts.note_wrong("a")
        waits.append(attempts.wait_s("a"))
        clock.advance(waits[-1])
        assert attempts.wait_s("a") == 0
    assert waits[: FREE_TRIES + 2] == [*[0] * (FREE_TRIES - 1), FIRST_WAIT_S, 60.0, 120.0]
    assert waits[-1] == LONGEST_WAIT_S


def test_one_mistyping_does_not_hold_up_another() -> None:
    attempts = Attempts(SteppedClock())
    for _ in range(FREE_TRIES):
        attempts.note_wrong("a")
    assert attempts.wait_s("a") == FIRST_WAIT_S
    assert attempts.wait_s("b") == 0


def test_many_accounts_guess_no_faster_than_one() -> None:
    clock = SteppedClock()
    attempts = Attempts(clock)
    for number in range(FREE_TRIES_OF_ALL):
        attempts.note_wrong(str(number))
    assert attempts.wait_s("new") == FIRST_WAIT_S
    clock.advance(FIRST_WAIT_S)
    for number in range(MAX_REMEMBERED + 100):
        attempts.note_wrong(str(number))
    assert attempts.wait_s("new") == LONGEST_WAIT_OF_ALL_S
    assert len(attempts._of) == MAX_REMEMBERED


def test_the_right_code_and_time_make_it_good() -> None:
    clock = SteppedClock()
    attempts = Attempts(clock)
    for _ in range(FREE_TRIES):
        attempts.note_wrong("a")
    attempts.forget("a")
    attempts.forget("nobody")
    assert attempts.wait_s("a") == 0
    for _ in range(FREE_TRIES - 1):
        attempts.note_wrong("b")
    clock.advance(FORGOTTEN_AFTER_S + 1)
    attempts.note_wrong("b")
    assert attempts.wait_s("b") == 0
