"""The limits of an output under CPython: one by one, and in any order of calls at any speed."""

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.readings.rule_program import TICKS_PERIOD, ticks_add
from tests.fakes.pin import RecordedPin
from tests.firmware.node_on_cpython import node_module

with node_module("outputs") as loaded:
    OUTPUTS = loaded
REFUSAL = OUTPUTS.Refusal


def output(pin: RecordedPin, **options: Any) -> Any:
    return OUTPUTS.Output(pin, {"name": "pump", **options}, 0)


def outputs(pin: RecordedPin, **options: Any) -> Any:
    return OUTPUTS.Outputs((output(pin, **options),))


def test_the_rate_counts_any_sixty_seconds() -> None:
    some = outputs(RecordedPin(), per_minute=2)
    for now_ms in (0, 30_000):
        some.write(0, 1, now_ms)
        some.write(0, 0, now_ms + 10)
    with pytest.raises(REFUSAL, match=r"pump too often: wait 20\.0 s \(per_minute 2\)") as refused:
        some.write(0, 1, 40_000)
    assert refused.value.code == 3
    # The first of them is a minute ago, whether or not the loop has noticed
    some.write(0, 1, 60_000)
    some.write(0, 0, 60_010)
    some.tick(60_020)
    with pytest.raises(REFUSAL, match=r"wait 29\.9 s"):
        some.write(0, 1, 60_100)


def test_a_rest_that_is_over_is_over_before_the_loop_has_noticed() -> None:
    some = outputs(RecordedPin(), min_off_ms=1000)
    with pytest.raises(REFUSAL, match=r"must rest 0\.1 s more \(min_off_ms 1000\)"):
        some.write(0, 1, 999)
    assert some.write(0, 1, 1000) == 1


def test_what_is_long_over_is_forgotten_before_the_counter_comes_around() -> None:
    some = outputs(RecordedPin(), min_off_ms=1000, per_minute=1)
    some.tick(1000)
    some.write(0, 1, 1000)
    some.write(0, 0, 2000)
    some.tick(61_000)
    assert some.write(0, 1, 2100) == 1


def test_no_renewing_keeps_an_output_on_beyond_its_longest_time() -> None:
    pin = RecordedPin()
    some = outputs(pin, max_on_ms=3000)
    some.write(0, 1, 0)
    for now_ms in range(0, 3000, 10):
        some.renew(1, now_ms)
        some.write(0, 1, now_ms)
        some.tick(now_ms)
        if pin.levels[-1] == 0:
            break
    assert 2900 < now_ms < 3000


def test_an_interlock_is_needed_to_switch_on_and_to_stay_on() -> None:
    level = 0
    made = output(RecordedPin())
    made.needs = ((lambda: 1, 1, "power_ok"), (lambda: level, 1, "level_ok"))
    some = OUTPUTS.Outputs((made,))
    with pytest.raises(REFUSAL, match="pump needs level_ok on") as refused:
        some.write(0, 1, 0)
    assert refused.value.code == 6
    level = 1
    some.write(0, 1, 0)
    some.tick(10)
    assert made.read() == 1
    level = 0
    some.tick(20)
    assert (made.read(), some.held) == (0, 0)


def test_an_interlock_that_cannot_be_read_is_not_met() -> None:
    def unplugged() -> int:
        raise OSError(19)

    made = output(RecordedPin())
    made.needs = ((unplugged, 0, "door"),)
    with pytest.raises(REFUSAL, match="pump needs door off"):
        OUTPUTS.Outputs((made,)).write(0, 1, 0)


def test_going_safe_is_never_refused() -> None:
    pin = RecordedPin()
    some = outputs(pin, min_off_ms=60_000, per_minute=1)
    made = some.find(0)
    made.needs = ((lambda: 0, 1, "level_ok"),)
    assert some.write(0, 0, 0) == 0


commands = st.one_of(
    st.tuples(st.sampled_from(["write", "reflex"]), st.integers(0, 2), st.integers(0, 1)),
    st.tuples(st.just("renew"), st.integers(0, 7), st.just(0)),
    st.tuples(st.just("trip"), st.integers(-1, 7), st.just(0)),
    st.tuples(st.sampled_from(["make_safe", "release"]), st.just(0), st.just(0)),
    st.tuples(st.sampled_from(["lock", "clear"]), st.integers(1, 3), st.just(0)),
)
# As fast as frames can come, and slow enough for every limit to end
gaps_ms = st.one_of(st.just(0), st.integers(1, 300), st.integers(300, 20_000))
events = st.lists(st.tuples(commands, gaps_ms), max_size=60)
FIRST_MS = TICKS_PERIOD - 5000
PASS_MS = 10


class _World:
    """Three outputs with limits, and what a bystander would write down."""

    def __init__(self, **options: Any) -> None:
        self.now_ms = 0
        self.level_ok = 1
        self.pins = [RecordedPin() for _ in range(3)]
        self.some = OUTPUTS.Outputs(
            tuple(OUTPUTS.Output(pin, {"name": "pump", **options}, FIRST_MS) for pin in self.pins)
        )
        for one in range(3):
            self.some.find(one).needs = ((lambda: self.level_ok, 1, "level_ok"),)
        # By pin: when it went on and when off, in milliseconds that do not go around
        self.seen: list[list[tuple[int, int]]] = [[], [], []]

    @property
    def ticks_ms(self) -> int:
        return ticks_add(FIRST_MS, self.now_ms)

    def look(self) -> None:
        for pin, seen in zip(self.pins, self.seen, strict=True):
            if pin.levels[-1] != (seen[-1][0] if seen else 0):
                seen.append((pin.levels[-1], self.now_ms))

    def pass_by(self, for_ms: int) -> None:
        until_ms = self.now_ms + for_ms
        while self.now_ms < until_ms:
            self.now_ms = min(until_ms, self.now_ms + PASS_MS)
            self.some.tick(self.ticks_ms)
            self.look()

    def obey(self, name: str, number: int, value: int) -> None:
        with contextlib.suppress(REFUSAL):
            match name:
                case "write":
                    self.some.write(number, value, self.ticks_ms)
                case "reflex":
                    self.some.write_reflex(number, value, 4000, self.ticks_ms)
                case "renew":
                    self.some.renew(number, self.ticks_ms)
                case "trip" | "lock" | "clear":
                    getattr(self.some, name)(number)
                case _:
                    getattr(self.some, name)()
        self.look()


@given(events=events, levels=st.lists(st.integers(0, 1), max_size=60))
@settings(deadline=None, max_examples=60)
def test_no_order_of_calls_at_any_speed_exceeds_a_limit(
    events: list[tuple[tuple[str, int, int], int]], levels: list[int]
) -> None:
    world = _World(max_on_ms=700, min_off_ms=250, per_minute=5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OUTPUTS, "ticks_ms", lambda: world.ticks_ms)
        for at, (command, gap_ms) in enumerate(events):
            world.pass_by(gap_ms)
            world.level_ok = levels[at] if at < len(levels) else 1
            world.obey(*command)
            on = {index for index, pin in enumerate(world.pins) if pin.levels[-1] == 1}
            held = {index for index in range(3) if world.some.held & 1 << index}
            # What an interrupt has made safe is held until the loop notes it
            assert on == {index for index in held if not world.some.find(index).tripped}
        world.pass_by(OUTPUTS.LEASE_LONGEST_MS)
    for seen in world.seen:
        _judge(seen)


def _judge(seen: list[tuple[int, int]]) -> None:
    assert [value for value, _at in seen] == [1, 0] * (len(seen) // 2)
    times = [at_ms for _value, at_ms in seen]
    on, off = times[::2], times[1::2]
    assert all(end - began <= 700 for began, end in zip(on, off, strict=True))
    # The start counts as an end: nobody knows what was before it
    assert all(began - end >= 250 for began, end in zip(on, [0, *off], strict=False))
    assert all(later - first >= 60_000 for first, later in zip(on, on[5:], strict=False))
