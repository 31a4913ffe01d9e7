"""The board's reflexes under CPython: when they act, and what they may never do."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.link import frame as wire
from tests.firmware.garden import (
    ABOVE,
    ACTIVE,
    BELOW,
    DELETE,
    DRY,
    EQUAL,
    FAN,
    FULL,
    GET,
    LAMP,
    LIST,
    PAUSE,
    PAUSED,
    PUMP,
    PUT,
    REFUSAL,
    SOIL,
    TANK,
    UNEQUAL,
    Garden,
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
