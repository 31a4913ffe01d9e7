"""The dead man's interrupt between every two bytecodes of whatever the loop does to outputs.

On the board an interrupt comes at any moment and runs to its end. Whatever it meets: an output is
on only while somebody holds it, and what the interrupt has ended stays ended.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType

import pytest

from agent.readings.rule_program import ticks_add
from firmware.host.bundle import FIRMWARE
from tests.fakes.pin import RecordedPin
from tests.firmware.every_step import stopped_before
from tests.firmware.node_on_cpython import node_module

with node_module("deadman", pyb=ModuleType("pyb")) as loaded:
    DEADMAN = loaded
with node_module("outputs") as loaded:
    OUTPUTS = loaded

NODE = str(FIRMWARE / "node")
SILENCE_MS, STUCK_MS, LEASE_MS, REFLEX_MS, PASS_MS = 500, 500, 2_000, 900, 10
LONGEST_LEASE_MS = 10_000
# In bytecodes: less is work that was not watched
SHORTEST_WORK = 20
ESTOP = 1
# Shortly before the counter of milliseconds comes around
BEGAN_MS = (1 << 30) - 300


class SlowDevice(RecordedPin):
    """Is not driven from an interrupt."""

    TRIPS = False


class TwoStepDevice(RecordedPin):
    """Takes more than one step to be driven, as a PWM does."""

    def value(self, level: int | None = None) -> int | None:
        if level is not None:
            super().value(level)
        return super().value(level)


class Bench:
    """Four outputs: held by the Pi, by a reflex, by the Pi without an interrupt, by nobody."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now_ms = BEGAN_MS
        for module in (DEADMAN, OUTPUTS):
            patch.setattr(module, "ticks_ms", lambda: self.now_ms)
        self.pins = [RecordedPin(), RecordedPin(), SlowDevice(), TwoStepDevice()]
        made = [OUTPUTS.Output(pin, {"lease_ms": LEASE_MS}, BEGAN_MS) for pin in self.pins]
        self.outputs = OUTPUTS.Outputs(tuple(made))
        self.deadman = DEADMAN.DeadMan(self.outputs)
        self.outputs.write(0, 1, BEGAN_MS)
        self.outputs.write_reflex(1, 1, REFLEX_MS, BEGAN_MS)
        self.outputs.write(2, 1, BEGAN_MS)

    @property
    def on(self) -> int:
        return sum(pin.levels[-1] << at for at, pin in enumerate(self.pins))

    def wait(self, for_ms: int) -> None:
        self.now_ms = ticks_add(self.now_ms, for_ms)

    def look(self) -> None:
        self.deadman._look(None)

    def pass_by(self) -> None:
        """A pass of the loop, with a look of the interrupt in it."""
        self.wait(PASS_MS)
        self.look()
        self.outputs.tick(self.now_ms)
        self.deadman.passed(self.now_ms)

    def fall_silent(self) -> None:
        """The Pi has not been heard for so long, while the loop goes around."""
        assert self.on & ~self.outputs.held == 0
        self.wait(SILENCE_MS)
        self.deadman.passed(self.now_ms)
        self.look()

    def get_stuck(self) -> None:
        """The loop has not come around for so long, though the Pi talks."""
        assert self.on & ~self.outputs.held == 0
        self.wait(STUCK_MS)
        self.deadman.heard(self.now_ms)
        self.look()


def renew(bench: Bench) -> None:
    bench.outputs.renew(-1, bench.now_ms)


def write(index: int, value: int) -> Callable[[Bench], None]:
    return lambda bench: bench.outputs.write(index, value, bench.now_ms)


def tick_after(passed_ms: int) -> Callable[[Bench], None]:
    return lambda bench: bench.outputs.tick(ticks_add(BEGAN_MS, passed_ms))


def settle_one_of_two(bench: Bench) -> None:
    bench.outputs.trip(0b0001)
    bench.outputs.tick(bench.now_ms)


WORK: dict[str, Callable[[Bench], object]] = {
    "on": write(3, 1),
    "on again": write(0, 1),
    "on in place of a reflex": write(1, 1),
    "off": write(0, 0),
    "a reflex on": lambda bench: bench.outputs.write_reflex(3, 1, REFLEX_MS, bench.now_ms),
    "a reflex off": lambda bench: bench.outputs.write_reflex(0, 0, 0, bench.now_ms),
    "renew": renew,
    "nothing ends": tick_after(10),
    "the reflex ends": tick_after(REFLEX_MS),
    "the leases end": tick_after(LEASE_MS),
    "an earlier interrupt is noted": settle_one_of_two,
    "a session begins": lambda bench: bench.outputs.release(),
    "an emergency stop": lambda bench: bench.outputs.lock(ESTOP),
    "other pins": lambda bench: bench.outputs.replace(bench.outputs._table),
}


def interrupted(
    patch: pytest.MonkeyPatch, work: str, interrupt: Callable[[Bench], None]
) -> Iterator[Bench]:
    """A bench for every moment of the work, on which it was interrupted just there."""
    for step in itertools.count(1):
        bench = Bench(patch)
        if not stopped_before(step, NODE, partial(_work, bench, work), partial(interrupt, bench)):
            assert step > SHORTEST_WORK
            return
        yield bench


def _work(bench: Bench, work: str) -> None:
    with contextlib.suppress(OUTPUTS.Refusal):
        WORK[work](bench)


@pytest.mark.parametrize("work", WORK)
def test_silence_at_any_moment_ends_what_the_pi_holds(
    work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for bench in interrupted(monkeypatch, work, Bench.fall_silent):
        # What was written behind the back of the first look is ended by the next
        bench.look()
        bench.outputs.tick(bench.now_ms)
        assert (bench.outputs.leased, bench.on) == (0, bench.outputs.reflexed)
        still_on = bench.on
        for pause_ms in (PASS_MS, LEASE_MS - PASS_MS, LONGEST_LEASE_MS):
            bench.wait(pause_ms - PASS_MS)
            bench.pass_by()
            assert bench.on & ~still_on == 0
            still_on = bench.on
        assert (bench.on, bench.outputs.held) == (0, 0)


@pytest.mark.parametrize("work", WORK)
def test_a_loop_that_hangs_at_any_moment_ends_everything(
    work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for bench in interrupted(monkeypatch, work, Bench.get_stuck):
        bench.look()
        bench.outputs.tick(bench.now_ms)
        assert (bench.on, bench.outputs.held) == (0, 0)


@pytest.mark.parametrize("interrupt", [Bench.fall_silent, Bench.get_stuck])
@pytest.mark.parametrize("work", WORK)
def test_what_was_ended_at_any_moment_stays_ended_when_the_pi_is_back(
    work: str, interrupt: Callable[[Bench], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for bench in interrupted(monkeypatch, work, interrupt):
        bench.deadman.heard(bench.now_ms)
        bench.deadman.passed(bench.now_ms)
        bench.outputs.tick(bench.now_ms)
        on = bench.on
        assert on == bench.outputs.held
        assert bench.outputs.renew(-1, bench.now_ms) == bench.outputs.leased
        bench.pass_by()
        assert bench.on == bench.outputs.held == on
