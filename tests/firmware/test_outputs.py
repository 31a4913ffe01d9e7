"""firmware/node/outputs.py under CPython, for every branch and for arithmetic over time."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.pin import BrokenPin, RecordedPin, ShortedPin
from tests.firmware.node_on_cpython import TICKS_PERIOD, node_module, ticks_add

LEASE_MS = 2000

with node_module("outputs") as loaded:
    OUTPUTS = loaded


def output(pin: RecordedPin, **options: Any) -> Any:
    settings = {"active_low": False, "safe": 0, "lease_ms": LEASE_MS, "floating": False}
    return OUTPUTS.Output(pin, **{**settings, **options})


def outputs(*pins: RecordedPin | None) -> Any:
    return OUTPUTS.Outputs(tuple(pin and output(pin) for pin in pins))


@pytest.mark.parametrize(("active_low", "safe", "level"), [(0, 0, 0), (1, 0, 1), (1, 1, 0)])
def test_an_output_starts_at_its_safe_value(active_low: int, safe: int, level: int) -> None:
    pin = RecordedPin()
    output(pin, active_low=bool(active_low), safe=safe)
    assert (pin.mode, pin.levels) == (RecordedPin.OUT, [level])


def test_a_floating_output_is_left_alone_until_it_is_written() -> None:
    pin = RecordedPin()
    all_outputs = OUTPUTS.Outputs((output(pin, floating=True),))
    all_outputs.make_safe()
    assert pin.mode is None
    assert not all_outputs.find(0).is_driven
    all_outputs.write(0, 1, 0)
    assert all_outputs.find(0).is_driven
    assert (pin.mode, pin.levels) == (RecordedPin.OUT, [1])


def test_no_board_file_gets_a_lease_longer_than_the_longest() -> None:
    assert output(RecordedPin(), lease_ms=60_000).lease_ms == OUTPUTS.LEASE_LONGEST_MS == 10_000


def test_writing_returns_what_the_pin_reads() -> None:
    assert outputs(RecordedPin()).write(0, 1, 0) == 1
    assert outputs(ShortedPin()).write(0, 1, 0) == 0


def test_a_pin_that_is_no_output_is_not_found() -> None:
    some = outputs(None, RecordedPin())
    assert some.find(0) is None
    assert some.find(1) is not None
    assert some.find(2) is None


@given(began_ms=st.integers(0, TICKS_PERIOD - 1), passed_ms=st.integers(0, 60_000))
def test_an_output_is_on_exactly_until_its_lease_ends(began_ms: int, passed_ms: int) -> None:
    pin = RecordedPin()
    some = outputs(pin)
    some.write(0, 1, began_ms)
    some.tick(ticks_add(began_ms, passed_ms))
    ended = passed_ms >= LEASE_MS
    assert pin.levels[-1] == (0 if ended else 1)
    assert some.leased == (0 if ended else 1)


@given(
    began_ms=st.integers(0, TICKS_PERIOD - 1),
    steps_ms=st.lists(st.integers(1, LEASE_MS - 1), max_size=20),
)
def test_a_lease_that_is_renewed_in_time_never_ends(began_ms: int, steps_ms: list[int]) -> None:
    pin = RecordedPin()
    some = outputs(pin)
    now_ms = began_ms
    some.write(0, 1, now_ms)
    for step_ms in steps_ms:
        now_ms = ticks_add(now_ms, step_ms)
        some.tick(now_ms)
        assert some.renew(0xFFFFFFFF, now_ms) == 1
    assert pin.levels == [0, 1]


def test_renewing_touches_only_what_is_under_lease_and_in_the_mask() -> None:
    some = outputs(RecordedPin(), None, RecordedPin(), RecordedPin())
    some.write(0, 1, 0)
    some.write(2, 1, 0)
    assert some.renew(0b1001, 1000) == 0b0101
    some.tick(LEASE_MS)
    assert some.leased == 0b0001


def test_the_safe_value_needs_no_lease() -> None:
    pin = RecordedPin()
    some = outputs(pin)
    some.write(0, 1, 0)
    some.write(0, 0, 10)
    assert some.leased == 0
    some.tick(LEASE_MS)
    assert pin.levels == [0, 1, 0]


def test_a_pin_that_fails_while_it_is_driven_is_under_lease_all_the_same() -> None:
    pin = BrokenPin()
    some = outputs(pin)
    with pytest.raises(OSError, match="5"):
        some.write(0, 1, 0)
    assert some.leased == 1
    some.tick(LEASE_MS)
    assert pin.levels[-1] == 0


def test_stop_lasts_until_a_session_begins() -> None:
    pin = RecordedPin()
    some = outputs(pin)
    some.write(0, 1, 0)
    some.stop()
    assert (some.stopped, some.leased, pin.levels[-1]) == (True, 0, 0)
    some.begin_session()
    assert not some.stopped


def test_a_session_begins_with_every_output_safe() -> None:
    pins = [RecordedPin(), RecordedPin()]
    some = outputs(pins[0], None, pins[1])
    some.write(0, 1, 0)
    some.write(2, 1, 0)
    some.begin_session()
    assert [pin.levels[-1] for pin in pins] == [0, 0]
    assert some.leased == 0


def test_a_reflex_holds_an_output_for_its_time_and_nobody_renews_it() -> None:
    pin = RecordedPin()
    some = outputs(pin)
    assert some.write_reflex(0, 1, 5000, 0)
    assert (some.leased, some.held) == (0, 1)
    assert some.renew(1, 4000) == 0
    some.tick(4999)
    assert pin.levels[-1] == 1
    some.tick(5000)
    assert (some.held, pin.levels[-1]) == (0, 0)


def test_a_reflex_lasts_no_longer_than_the_longest_lease() -> None:
    pin = RecordedPin()
    some = outputs(pin)
    some.write_reflex(0, 1, 60_000, 0)
    some.tick(OUTPUTS.LEASE_LONGEST_MS)
    assert pin.levels[-1] == 0


def test_a_new_session_ends_what_the_pi_holds_and_not_what_a_reflex_holds() -> None:
    pins = [RecordedPin(), RecordedPin()]
    some = outputs(*pins)
    some.write(0, 1, 0)
    some.write_reflex(1, 1, 5000, 0)
    some.begin_session()
    assert [pin.levels[-1] for pin in pins] == [0, 1]
    some.stop()
    assert ([pin.levels[-1] for pin in pins], some.held) == ([0, 0], 0)


def test_a_reflex_ends_what_is_held_and_never_prolongs_it() -> None:
    some = outputs(RecordedPin(), RecordedPin())
    some.write(0, 1, 0)
    some.write_reflex(1, 1, 1000, 0)
    assert not some.write_reflex(0, 1, 9000, 500)
    assert not some.write_reflex(1, 1, 9000, 500)
    some.tick(1000)
    assert some.held == 0b01
    assert some.write_reflex(0, 0, 0, 1500)
    assert some.held == 0


def test_the_pis_word_takes_over_what_a_reflex_holds() -> None:
    pin = RecordedPin()
    some = outputs(pin)
    some.write_reflex(0, 1, 9000, 0)
    some.write(0, 1, 0)
    assert (some.leased, some.reflexed) == (1, 0)
    some.tick(LEASE_MS)
    assert pin.levels[-1] == 0
    some.write_reflex(0, 1, 9000, 0)
    some.write(0, 0, 10)
    assert (some.held, pin.levels[-1]) == (0, 0)


commands = st.one_of(
    st.tuples(st.sampled_from(["write", "reflex"]), st.integers(0, 2), st.integers(0, 1)),
    st.tuples(st.just("renew"), st.integers(0, 7), st.just(0)),
    st.tuples(st.sampled_from(["make_safe", "stop", "begin_session"]), st.just(0), st.just(0)),
)


@given(st.lists(st.tuples(commands, st.integers(0, 3000)), max_size=40))
def test_no_order_of_events_leaves_an_output_on_without_a_lease(
    events: list[tuple[tuple[str, int, int], int]],
) -> None:
    pins = [RecordedPin(), RecordedPin(), RecordedPin()]
    some = outputs(*pins)
    now_ms = TICKS_PERIOD - 5000
    for (name, number, value), passed_ms in events:
        now_ms = ticks_add(now_ms, passed_ms)
        some.tick(now_ms)
        if name == "write":
            some.write(number, value, now_ms)
        elif name == "reflex":
            some.write_reflex(number, value, 4000, now_ms)
        elif name == "renew":
            some.renew(number, now_ms)
        else:
            getattr(some, name)()
        on = {index for index, pin in enumerate(pins) if pin.levels[-1] == 1}
        assert on == {index for index in range(3) if some.held & 1 << index}
    some.tick(ticks_add(now_ms, OUTPUTS.LEASE_LONGEST_MS))
    assert [pin.levels[-1] for pin in pins] == [0, 0, 0]
