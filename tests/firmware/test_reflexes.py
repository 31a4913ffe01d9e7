"""The board's reflexes under CPython, for every branch and for arithmetic over time."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.link import frame as wire
from tests.firmware.garden import (
    ABOVE,
    ACTIVE,
    BELOW,
    DAMAGED,
    DELETE,
    DRY,
    EMPTY,
    EQUAL,
    FAILED,
    FAN,
    FORBIDDEN,
    FULL,
    GET,
    GONE,
    IN_RAM,
    LAMP,
    LIST,
    PAUSE,
    PAUSED,
    PUMP,
    PUT,
    REFUSAL,
    SOIL,
    STORED,
    TANK,
    UNEQUAL,
    WAITING,
    Garden,
    Store,
    rule,
)


@pytest.fixture
def garden() -> Garden:
    return Garden()


def test_a_rule_acts_for_its_time_and_not_again_before_its_interval(garden: Garden) -> None:
    garden.put(rule(DRY, FULL))
    garden.run(1)
    assert not garden.is_on()
    garden.values[SOIL] = 299
    garden.run(0.1)
    assert garden.is_on()
    garden.run(1)
    assert not garden.is_on()
    garden.run(3.8)
    assert garden.switched_on() == 1
    garden.run(2)
    assert garden.switched_on() == 2
    assert garden.states()[0][:3] == (ACTIVE, 2, 0)


def test_every_condition_must_hold(garden: Garden) -> None:
    garden.put(rule(DRY, FULL))
    garden.values.update({SOIL: 0, TANK: 0})
    garden.run(1)
    garden.values.update({SOIL: 400, TANK: 1})
    garden.run(1)
    assert garden.switched_on() == 0


@pytest.mark.parametrize(
    ("comparison", "slack", "values", "expected"),
    [
        (BELOW, 10, [300, 299, 305, 310, 305], "01100"),
        (ABOVE, 10, [300, 301, 295, 290, 295], "01100"),
        (EQUAL, 0, [299, 300, 301], "010"),
        (EQUAL, 5, [294, 295, 305, 306], "0110"),
        (UNEQUAL, 5, [294, 295, 305, 306], "1001"),
    ],
)
def test_a_comparison_holds_with_its_hysteresis(
    comparison: int, slack: int, values: list[int], expected: str
) -> None:
    garden = Garden()
    garden.put(rule((SOIL, comparison, 300, slack), for_ms=1, every_s=1))
    seen = ""
    for value in values:
        garden.values[SOIL] = value
        # Long enough for whatever holds to act again
        garden.run(0.05)
        before = garden.switched_on()
        garden.run(2.5)
        seen += "1" if garden.switched_on() > before else "0"
    assert seen == expected


def test_conditions_are_held_without_a_break(garden: Garden) -> None:
    garden.put(rule(held_ms=2000))
    for _ in range(3):
        garden.values[SOIL] = 0
        garden.run(1.9)
        garden.values[SOIL] = 500
        garden.run(0.1)
    assert garden.switched_on() == 0
    garden.values[SOIL] = 0
    garden.run(2.1)
    assert garden.is_on()


def test_a_sensor_that_fails_says_nothing(garden: Garden) -> None:
    garden.put(rule())
    garden.values[SOIL] = 0
    garden.is_broken = True
    garden.run(1)
    garden.is_broken = False
    garden.values[SOIL] = None
    garden.run(1)
    assert garden.switched_on() == 0
    assert garden.states()[0][:4] == (ACTIVE, 0, 0, wire.IO)


def test_the_clock_goes_around_unnoticed() -> None:
    garden = Garden()
    garden.put(rule())
    for _ in range(3000):
        garden.step(400_000)
    garden.values[SOIL] = 0
    garden.step(10)
    assert garden.is_on()
    garden.run(1)
    assert not garden.is_on()


@pytest.mark.parametrize("reason", [wire.REASON_ESTOP, wire.REASON_WATCHDOG, wire.REASON_FAULT])
def test_a_lock_ends_what_a_rule_holds_and_lets_none_act(garden: Garden, reason: int) -> None:
    garden.put(rule())
    garden.values[SOIL] = 0
    garden.run(0.1)
    garden.outputs.lock(reason)
    assert not garden.is_on()
    garden.run(20)
    assert garden.switched_on() == 1
    assert garden.states()[0][:4] == (ACTIVE, 1, 1, wire.UNSAFE_STATE)
    garden.outputs.clear(reason)
    garden.run(2)
    assert garden.switched_on() == 2


def test_a_new_session_and_a_silent_pi_end_nothing_that_a_rule_holds(garden: Garden) -> None:
    garden.put(rule())
    garden.values[SOIL] = 0
    garden.run(0.1)
    garden.outputs.write(LAMP, 1, garden.now_ms)
    garden.outputs.release()
    assert (garden.is_on(), garden.is_on(LAMP)) == (True, False)
    garden.run(1)
    assert not garden.is_on()


def test_what_the_pi_holds_is_neither_prolonged_nor_changed(garden: Garden) -> None:
    garden.put(rule(for_ms=4000))
    garden.outputs.write(PUMP, 1, 0)
    garden.values[SOIL] = 0
    garden.run(1.9)
    assert garden.states()[0][:4] == (ACTIVE, 0, 1, wire.BUSY_CODE)
    garden.run(0.2)
    assert not garden.outputs.leased
    garden.run(1)
    # The lease has ended, and the rule acts by itself
    assert garden.states()[0][1] == 1


def test_a_rule_may_end_what_the_pi_holds(garden: Garden) -> None:
    garden.put(rule(value=0, for_ms=0))
    garden.outputs.write(PUMP, 1, 0)
    garden.values[SOIL] = 0
    garden.run(0.1)
    assert (garden.is_on(), garden.outputs.leased) == (False, 0)


def test_two_rules_do_not_prolong_each_other(garden: Garden) -> None:
    garden.put(rule(for_ms=3000, every_s=4))
    garden.put(rule(for_ms=3000, every_s=4, held_ms=1500))
    garden.values[SOIL] = 0
    garden.run(2.9)
    assert garden.is_on()
    garden.run(0.2)
    assert len([level for level in garden.pins.pins[PUMP].levels if not level]) >= 2


def test_interlocks_and_limits_refuse_a_rule_that_acts() -> None:
    garden = Garden(min_off_ms=60_000)
    garden.put(rule())
    garden.values[SOIL] = 0
    garden.run(10)
    assert garden.switched_on() == 0
    assert garden.states()[0][2:4] == (1, wire.BUSY_CODE)


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (rule(output=TANK), wire.BAD_PIN),
        (rule(output=77), wire.BAD_PIN),
        (rule((9, BELOW, 1, 0)), wire.BAD_PIN),
        (rule((SOIL, BELOW | 1 << 4, 1, 0)), wire.BAD_PIN),
        (rule((SOIL, 4, 1, 0)), wire.OUT_OF_RANGE),
        (rule((SOIL, BELOW, 1, -1)), wire.OUT_OF_RANGE),
        (rule(conditions=0), wire.OUT_OF_RANGE),
        (rule(conditions=3), wire.OUT_OF_RANGE),
        (rule(enabled=2), wire.OUT_OF_RANGE),
        (rule(value=2), wire.OUT_OF_RANGE),
        (rule(value=-1), wire.OUT_OF_RANGE),
        (rule(output=FAN, value=1001), wire.OUT_OF_RANGE),
        (rule(for_ms=0), wire.OUT_OF_RANGE),
        (rule(for_ms=10_001, every_s=60), wire.OUT_OF_RANGE),
        (rule(value=0, for_ms=1), wire.OUT_OF_RANGE),
        (rule(every_s=0), wire.OUT_OF_RANGE),
        (rule(every_s=1), wire.OUT_OF_RANGE),
        (rule(every_s=604_801), wire.OUT_OF_RANGE),
        (rule(held_ms=3_600_001), wire.OUT_OF_RANGE),
        (rule(name_bytes=0), wire.OUT_OF_RANGE),
        (rule(name_bytes=24), wire.OUT_OF_RANGE),
        (rule()[:-1], wire.BAD_REQUEST),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(garden: Garden, raw: bytes, code: int) -> None:
    assert garden.code_of(PUT, 255, raw=raw) == code
    assert garden.states()[0][0] == EMPTY


def test_a_rule_may_not_ask_for_more_than_the_longest_on_time() -> None:
    garden = Garden(max_on_ms=800)
    assert garden.code_of(PUT, 255, raw=rule()) == wire.OUT_OF_RANGE
    assert garden.code_of(PUT, 255, raw=rule(for_ms=800)) == wire.OK


def test_a_device_is_set_within_its_own_range(garden: Garden) -> None:
    garden.put(rule(output=FAN, value=750))
    garden.values[SOIL] = 0
    garden.run(0.1)
    assert garden.pins.pins[FAN].levels[-1] == 750


def test_a_device_without_a_range_is_no_output_of_a_rule(garden: Garden) -> None:
    place = garden.pins.places[FAN]
    assert place is not None
    place.device = object()
    assert garden.code_of(PUT, 255, raw=rule(output=FAN)) == wire.BAD_PIN


def test_the_table_is_full_at_sixteen(garden: Garden) -> None:
    assert [garden.put(rule()) for _ in range(wire.REFLEXES_MOST)] == list(range(16))
    assert garden.code_of(PUT, 255, raw=rule()) == wire.BUSY_CODE
    assert garden.code_of(PUT, 16, raw=rule()) == wire.BUSY_CODE
    garden.call(DELETE, 7)
    assert garden.put(rule()) == 7


def test_a_rule_can_be_read_back(garden: Garden) -> None:
    slot = garden.put(rule(DRY, FULL))
    assert garden.call(GET, slot) == rule(DRY, FULL)
    assert garden.code_of(GET, 3) == wire.OUT_OF_RANGE
    assert garden.code_of(GET, 200) == wire.OUT_OF_RANGE
    assert garden.code_of(9, slot) == wire.BAD_REQUEST
    assert garden.code_of(GET) == wire.BAD_REQUEST
    assert garden.code_of(PAUSE, slot) == wire.BAD_REQUEST


@pytest.mark.parametrize("order", [(DELETE,), (PAUSE, 0)])
def test_a_rule_that_is_taken_away_lets_go_at_once(garden: Garden, order: tuple[int, ...]) -> None:
    slot = garden.put(rule())
    garden.values[SOIL] = 0
    garden.run(0.1)
    garden.call(order[0], slot, *order[1:])
    assert not garden.is_on()
    garden.run(20)
    assert garden.switched_on() == 1


def test_a_paused_rule_acts_again_when_it_is_resumed(garden: Garden) -> None:
    slot = garden.put(rule(enabled=0))
    garden.values[SOIL] = 0
    garden.run(1)
    assert (garden.states()[slot][0], garden.is_on()) == (PAUSED, False)
    garden.call(PAUSE, slot, 1)
    garden.run(0.1)
    assert (garden.states()[slot][0], garden.is_on()) == (ACTIVE, True)


def test_rules_outlive_a_reset_and_wait_their_interval_after_it(garden: Garden) -> None:
    garden.put(rule())
    garden.put(rule(enabled=0))
    garden.run(0.1)
    assert (garden.condition(), garden.busy_ms) == (STORED, [2000])
    again = Garden(garden.store)
    again.values[SOIL] = 0
    assert [state[0] for state in again.states()[:3]] == [ACTIVE, PAUSED, EMPTY]
    again.run(4.5)
    # A pump that pulls its own board into a reset does not run again and again
    assert again.switched_on() == 0
    again.run(1)
    assert again.switched_on() == 1


def test_flash_is_not_written_while_an_output_is_on(garden: Garden) -> None:
    garden.outputs.write(LAMP, 1, 0)
    garden.put(rule())
    garden.run(1)
    assert (garden.condition(), garden.store.saved) == (WAITING, 0)
    garden.run(1.1)
    assert (garden.condition(), garden.store.saved) == (STORED, 1)


def test_flash_that_fails_is_told_and_not_worn_out(garden: Garden) -> None:
    garden.store.fails = True
    garden.put(rule())
    garden.run(1)
    assert (garden.condition(), garden.store.saved) == (FAILED, 1)
    assert garden.states()[0][0] == ACTIVE


def test_a_board_without_flash_says_so() -> None:
    store = Store()
    store.has_flash = False
    garden = Garden(store)
    assert garden.condition() == IN_RAM
    garden.put(rule())
    garden.run(0.1)
    assert (garden.condition(), garden.busy_ms) == (IN_RAM, [])


@pytest.mark.parametrize("text", [b"\x09", b"\x01\x01", b"\x01\x02" + bytes(76), b"\x02\x00"])
def test_a_damaged_store_is_ignored_and_told(text: bytes) -> None:
    store = Store()
    store.text = text
    garden = Garden(store)
    assert garden.condition() == DAMAGED
    assert {state[0] for state in garden.states()} == {EMPTY}
    garden.put(rule())
    garden.run(0.1)
    assert garden.condition() == STORED


@given(at=st.integers(0, 77), value=st.integers(0, 255))
def test_no_damage_of_the_store_stops_the_board(at: int, value: int) -> None:
    garden = Garden()
    garden.put(rule())
    garden.run(0.1)
    text = bytearray(garden.store.text)
    text[at] = value
    garden.store.text = bytes(text)
    again = Garden(garden.store)
    again.values[SOIL] = 0
    again.run(1)
    assert not again.is_on() or again.states()[0][0] == ACTIVE


def test_a_rule_follows_its_pins_through_a_new_configuration(garden: Garden) -> None:
    garden.put(rule((TANK, EQUAL, 1, 0)))
    places = garden.pins.places
    places[SOIL], places[TANK] = places[TANK], places[SOIL]
    garden.hash = b"another"
    garden.values = {SOIL: 1, TANK: 500}
    garden.run(6)
    assert garden.states()[0][0] == ACTIVE
    assert garden.call(GET, 0)[wire.RULE_PINS_AT[1]] == SOIL
    assert garden.switched_on() == 1


def test_a_rule_whose_pin_is_gone_rests_until_it_is_back(garden: Garden) -> None:
    garden.put(rule())
    taken, garden.pins.places[SOIL] = garden.pins.places[SOIL], None
    garden.hash = b"another"
    garden.values[SOIL] = 0
    garden.run(10)
    assert (garden.states()[0][0], garden.switched_on()) == (GONE, 0)
    garden.pins.places[SOIL] = taken
    garden.hash = b"a third"
    garden.run(6)
    assert (garden.states()[0][0], garden.switched_on()) == (ACTIVE, 1)


def test_a_rule_that_a_new_limit_forbids_rests(garden: Garden) -> None:
    garden.put(rule())
    tighter = Garden(garden.store, max_on_ms=500)
    assert tighter.states()[0][0] == EMPTY
    garden.run(0.1)
    tighter = Garden(garden.store, max_on_ms=500)
    tighter.values[SOIL] = 0
    tighter.run(10)
    assert (tighter.states()[0][0], tighter.switched_on()) == (FORBIDDEN, 0)


def test_few_rules_are_looked_at_in_a_pass(garden: Garden) -> None:
    for _ in range(wire.REFLEXES_MOST):
        garden.put(rule(DRY, FULL))
    looked: list[int] = []
    sample = garden.sample
    garden.sample = lambda index, part: looked.append(index) or sample(index, part)  # type: ignore[method-assign,func-returns-value]  # counts
    garden.step(10)
    assert len(looked) == 4
    assert garden.call(LIST)[1] == 16


some_rules = st.builds(
    lambda when, changed: rule(*when, **changed),
    st.lists(
        st.tuples(
            st.sampled_from([SOIL, TANK]),
            st.sampled_from([BELOW, ABOVE, EQUAL, UNEQUAL]),
            st.integers(0, 2),
            st.integers(0, 1),
        ),
        min_size=1,
        max_size=2,
    ),
    st.fixed_dictionaries(
        {
            "output": st.sampled_from([PUMP, LAMP, FAN]),
            "value": st.integers(0, 1),
            "for_ms": st.integers(0, 12_000),
            "every_s": st.integers(1, 20),
            "held_ms": st.integers(0, 3000),
        }
    ),
)
moments = st.tuples(
    st.sampled_from(["", "session", "estop", "clear", "write", "off"]),
    st.integers(0, 2),
    st.integers(0, 2),
    st.integers(10, 3000),
)


@settings(max_examples=40, deadline=None)
@given(
    rules=st.lists(some_rules, max_size=16),
    events=st.lists(moments, max_size=12),
    max_on_ms=st.sampled_from([0, 900, 5000]),
    min_off_ms=st.sampled_from([0, 700]),
)
def test_no_set_of_rules_exceeds_a_limit(
    rules: list[bytes],
    events: list[tuple[str, int, int, int]],
    max_on_ms: int,
    min_off_ms: int,
) -> None:
    garden = Garden(max_on_ms=max_on_ms, min_off_ms=min_off_ms)
    for raw in rules:
        garden.code_of(PUT, 255, raw=raw)
    watch = Watch(garden, max_on_ms, min_off_ms)
    for name, soil, tank, for_ms in events:
        garden.values = {SOIL: soil, TANK: tank}
        happen(garden, name)
        for _ in range(for_ms // 10):
            garden.step(10)
            watch.look()


def happen(garden: Garden, name: str) -> None:
    outputs, now_ms = garden.outputs, garden.now_ms
    if name == "session":
        outputs.release()
    elif name == "estop":
        outputs.lock(wire.REASON_ESTOP)
    elif name == "clear" and outputs.reason:
        outputs.clear(outputs.reason)
    elif name in {"write", "off"} and not outputs.reason:
        with contextlib.suppress(REFUSAL):
            outputs.write(PUMP, int(name == "write"), now_ms)


class Watch:
    """Looks at every output after every pass."""

    def __init__(self, garden: Garden, longest_ms: int, rest_ms: int) -> None:
        self._garden = garden
        self._longest_ms, self._rest_ms = longest_ms, rest_ms
        self._on_since: dict[int, int] = {}
        self._off_since: dict[int, int] = dict.fromkeys((PUMP, LAMP, FAN), 0)

    def look(self) -> None:
        garden = self._garden
        for index in (PUMP, LAMP, FAN):
            if garden.is_on(index):
                self._look_at_on(index)
            elif index in self._on_since:
                del self._on_since[index]
                self._off_since[index] = garden.passed_ms
        # Nothing is away from its safe value that nobody holds, and nothing at all while locked
        held = garden.outputs.held
        assert set(self._on_since) == {index for index in (PUMP, LAMP, FAN) if held & 1 << index}
        assert not (garden.outputs.reason and held)

    def _look_at_on(self, index: int) -> None:
        now_ms = self._garden.passed_ms
        if index not in self._on_since:
            assert now_ms - self._off_since[index] >= self._rest_ms - 10
            self._on_since[index] = now_ms
        # The pump is also the Pi's, which may hold it for as long as it likes
        longest_ms = self._longest_ms or (None if index == PUMP else 10_000)
        assert longest_ms is None or now_ms - self._on_since[index] <= longest_ms
