"""firmware/node/deadman.py under CPython: what its interrupt does, by the clock."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.readings.rule_program import TICKS_PERIOD, ticks_add
from tests.fakes.pin import RecordedPin
from tests.firmware.node_on_cpython import node_module


class HardTimer:
    """Holds the callback instead of calling it."""

    made: "list[HardTimer]" = []  # noqa: RUF012  - the one that the firmware makes

    def __init__(self, number: int, freq: int) -> None:
        self.number, self.freq = number, freq
        self.fire: Any = None
        HardTimer.made.append(self)

    def callback(self, function: Any) -> None:
        self.fire = lambda: function(self)


pyb: Any = ModuleType("pyb")
pyb.Timer = HardTimer
with node_module("deadman", pyb=pyb) as loaded:
    DEADMAN = loaded
with node_module("outputs") as loaded:
    OUTPUTS = loaded

SILENCE_MS = 500


class _Board:
    """Two outputs, and the interrupt that looks after them."""

    def __init__(self, patch: pytest.MonkeyPatch, began_ms: int = 0) -> None:
        self.now_ms = began_ms
        patch.setattr(DEADMAN, "ticks_ms", lambda: self.now_ms)
        patch.setattr(OUTPUTS, "ticks_ms", lambda: self.now_ms)
        self.pins = [RecordedPin(), RecordedPin()]
        options = {"lease_ms": 10_000}
        self.outputs = OUTPUTS.Outputs(
            tuple(OUTPUTS.Output(pin, options, began_ms) for pin in self.pins)
        )
        self.deadman = DEADMAN.DeadMan(self.outputs)
        self.deadman.start(11)
        self.fire = HardTimer.made[-1].fire

    @property
    def levels(self) -> list[int]:
        return [pin.levels[-1] for pin in self.pins]

    def pass_by(self, for_ms: int, *, heard: bool = False) -> None:
        self.now_ms = ticks_add(self.now_ms, for_ms)
        if heard:
            self.deadman.heard(self.now_ms)
        self.deadman.passed(self.now_ms)


def test_it_looks_often_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    _Board(monkeypatch)
    assert (HardTimer.made[-1].number, HardTimer.made[-1].freq) == (11, 100)


def test_the_board_keeps_memory_for_a_fault_in_the_interrupt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept: list[int] = []
    monkeypatch.setattr(
        DEADMAN.micropython, "alloc_emergency_exception_buf", kept.append, raising=False
    )
    _Board(monkeypatch)
    assert kept == [100]


@given(began_ms=st.integers(0, TICKS_PERIOD - 1), silent_ms=st.integers(0, 5_000))
@settings(deadline=None)
def test_silence_ends_what_the_pi_holds_and_nothing_else(began_ms: int, silent_ms: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        board = _Board(patch, began_ms)
        board.deadman.heard(board.now_ms)
        board.outputs.write(0, 1, board.now_ms)
        board.outputs.write_reflex(1, 1, 9_000, board.now_ms)
        board.pass_by(silent_ms)
        board.fire()
        assert board.levels == [0 if silent_ms >= SILENCE_MS else 1, 1]


def test_a_frame_of_the_session_in_time_keeps_everything_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    board = _Board(monkeypatch)
    board.outputs.write(0, 1, 0)
    for _ in range(10):
        board.pass_by(SILENCE_MS - 1, heard=True)
        board.fire()
    assert board.levels == [1, 0]


def test_a_loop_that_is_stuck_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    board = _Board(monkeypatch)
    board.outputs.write(0, 1, 0)
    board.outputs.write_reflex(1, 1, 9_000, 0)
    board.now_ms = SILENCE_MS - 1
    board.deadman.heard(board.now_ms)
    board.fire()
    assert board.levels == [1, 1]
    board.now_ms = SILENCE_MS
    board.fire()
    assert board.levels == [0, 0]
    board.outputs.tick(board.now_ms)
    assert board.outputs.held == 0
