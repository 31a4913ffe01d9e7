import random

from agent.link.discovery import FIRST_WAIT_S, LONGEST_WAIT_S, BackOff


def test_waits_grow_from_the_first_to_the_longest() -> None:
    back_off = BackOff(random.Random(1))
    waits_s = [back_off.next_s() for _ in range(10)]
    assert 0.75 * FIRST_WAIT_S <= waits_s[0] <= FIRST_WAIT_S
    assert all(wait_s <= LONGEST_WAIT_S for wait_s in waits_s)
    assert all(wait_s >= 0.75 * LONGEST_WAIT_S for wait_s in waits_s[6:])


def test_waits_differ_from_each_other() -> None:
    back_off = BackOff()
    for _ in range(9):
        back_off.next_s()
    assert len({back_off.next_s() for _ in range(5)}) > 1


def test_a_reset_begins_anew() -> None:
    back_off = BackOff()
    for _ in range(9):
        back_off.next_s()
    back_off.reset()
    assert back_off.next_s() <= FIRST_WAIT_S
