"""firmware/node/outputs.py under CPython, for every branch and for arithmetic over time."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.readings.rule_program import TICKS_PERIOD, ticks_add
from tests.fakes.pin import BrokenPin, RecordedPin, ShortedPin, StuckPin
from tests.firmware.node_on_cpython import node_module

LEASE_MS = 2000
ESTOP, WATCHDOG, FAULT = 1, 2, 3

with node_module("outputs") as loaded:
    OUTPUTS = loaded
REFUSAL = OUTPUTS.Refusal


def output(pin: RecordedPin, **options: Any) -> Any:
    return OUTPUTS.Output(pin, {"name": "pump", **options}, 0)


def outputs(*pins: RecordedPin | None, **options: Any) -> Any:
    return OUTPUTS.Outputs(tuple(pin and output(pin, **options) for pin in pins))


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


def test_a_floating_output_may_be_written_to_its_safe_value_first() -> None:
    pin = RecordedPin()
    some = outputs(pin, floating=True)
    assert some.write(0, 0, 0) == 0
    assert (pin.mode, pin.levels) == (RecordedPin.OUT, [0])


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


def test_a_session_begins_with_every_output_safe() -> None:
    pins = [RecordedPin(), RecordedPin()]
    some = outputs(pins[0], None, pins[1])
    some.write(0, 1, 0)
    some.write(2, 1, 0)
    some.release()
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
    some.release()
    assert [pin.levels[-1] for pin in pins] == [0, 1]
    some.lock(ESTOP)
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


def test_an_output_is_locked_until_its_reason_is_named() -> None:
    pin = RecordedPin()
    some = outputs(pin)
    some.write(0, 1, 0)
    some.lock(FAULT)
    assert (some.stopped, some.held, pin.levels[-1]) == (True, 0, 0)
    some.release()
    with pytest.raises(REFUSAL, match="a fault of the firmware"):
        some.write(0, 1, 0)
    assert not some.write_reflex(0, 1, 100, 0)
    with pytest.raises(REFUSAL, match="a fault of the firmware"):
        some.clear(ESTOP)
    assert some.stopped
    some.clear(FAULT)
    assert not some.stopped
    some.clear(FAULT)
    assert some.write(0, 1, 0) == 1


def test_an_emergency_stop_outranks_every_other_reason() -> None:
    some = outputs(RecordedPin())
    some.lock(WATCHDOG)
    some.lock(FAULT)
    assert some.reason == WATCHDOG
    some.lock(ESTOP)
    some.lock(FAULT)
    assert some.reason == ESTOP


def test_one_pin_that_fails_does_not_keep_the_others_from_safety() -> None:
    broken, pin = BrokenPin(), RecordedPin()
    some = OUTPUTS.Outputs((output(broken, safe=1, floating=True), output(pin)))
    some.write(0, 0, 0)
    some.write(1, 1, 0)
    with pytest.raises(OSError, match="5"):
        some.make_safe()
    assert (pin.levels[-1], some.held) == (0, 0b01)


def test_an_output_that_could_not_be_made_safe_is_tried_again_in_every_pass() -> None:
    pin = StuckPin(failures=3)
    some = outputs(pin)
    some.write(0, 1, 0)
    with pytest.raises(OSError, match="5"):
        some.write(0, 0, 10)
    # Held, and nothing that the Pi says prolongs it
    assert (some.held, some.renew(1, 20)) == (1, 0)
    for now_ms in (20, 30):
        with pytest.raises(OSError, match="5"):
            some.tick(now_ms)
        assert pin.levels[-1] == 1
    some.tick(40)
    assert (pin.levels[-1], some.held) == (0, 0)


def test_one_that_is_safe_and_fails_holds_nothing() -> None:
    pin = StuckPin(failures=1)
    some = outputs(pin)
    with pytest.raises(OSError, match="5"):
        some.release()
    assert some.held == 0


def test_what_is_not_an_output_is_refused() -> None:
    some = outputs(None)
    with pytest.raises(REFUSAL) as refused:
        some.write(0, 1, 0)
    assert refused.value.code == 1
    assert not some.write_reflex(0, 1, 100, 0)


def test_other_pins_take_over_with_the_old_ones_safe() -> None:
    pin = RecordedPin()
    some = outputs(pin)
    some.write(0, 1, 0)
    some.replace(())
    assert (pin.levels[-1], some.held, some.find(0)) == (0, 0, None)


# What an interrupt does


def test_an_interrupt_makes_safe_and_the_loop_notes_it() -> None:
    pins = [RecordedPin(), RecordedPin()]
    some = OUTPUTS.Outputs((output(pins[0]), None, output(pins[1], min_off_ms=1000)))
    some.tick(1000)
    for index in (0, 2):
        some.write(index, 1, 1000)
    some.trip(0b100)
    assert [pin.levels[-1] for pin in pins] == [1, 0]
    some.tick(1010)
    assert some.held == 0b001
    with pytest.raises(REFUSAL, match=r"must rest 0\.8 s more"):
        some.write(2, 1, 1210)
    some.trip(-1)
    assert [pin.levels[-1] for pin in pins] == [0, 0]
    assert some.write(0, 1, 1300) == 1


def test_an_interrupt_in_the_middle_of_a_write_has_the_last_word() -> None:
    class InterruptedPin(RecordedPin):
        def value(self, level: int | None = None) -> int | None:
            if level == 1:
                some.trip(1)
            return super().value(level)

    pin = InterruptedPin()
    some = outputs(pin)
    with pytest.raises(REFUSAL, match="silent"):
        some.write(0, 1, 0)
    assert (pin.levels[-1], some.held) == (0, 0)


def test_a_device_that_fails_or_cannot_in_an_interrupt_is_left_to_the_loop() -> None:
    class SlowDevice(RecordedPin):
        TRIPS = False

    broken, slow, pin = BrokenPin(), SlowDevice(), RecordedPin()
    made = (output(broken, safe=1, floating=True), output(slow), output(pin))
    some = OUTPUTS.Outputs(made)
    some.write(0, 0, 0)
    some.write(1, 1, 0)
    some.write(2, 1, 0)
    some.trip(-1)
    assert (slow.levels[-1], pin.levels[-1]) == (1, 0)
    with pytest.raises(OSError, match="5"):
        some.tick(0)
    assert (slow.levels[-1], some.held) == (0, 0b001)


def test_what_an_interrupt_has_made_safe_is_not_renewed() -> None:
    pins = [RecordedPin(), RecordedPin()]
    some = outputs(*pins)
    some.write(0, 1, 0)
    some.write(1, 1, 0)
    some.trip(0b01)
    assert some.renew(-1, 10) == 0b10
    assert [pin.levels[-1] for pin in pins] == [0, 1]


def test_a_device_brings_its_own_safe_value() -> None:
    device = RecordedPin()
    made = OUTPUTS.Output(device, {"name": "servo", "active_low": True}, 0, -1)
    some = OUTPUTS.Outputs((made,))
    assert some.write(0, 90, 0) == 90
    some.tick(LEASE_MS)
    assert device.levels == [-1, 90, -1]
