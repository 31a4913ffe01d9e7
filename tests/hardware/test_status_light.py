import asyncio
import contextlib
import itertools
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from agent.errors import CallRefused
from agent.hardware.status_light import (
    LEAST_INTERVAL_S,
    LOOKS,
    REFRESH_S,
    RETRY_S,
    LightSigns,
    LightState,
    StatusLight,
)
from agent.link.base import Value
from agent.link.manifest import BoardPin
from agent.security.estop import EmergencyStop
from agent.system.activity import Activity
from tests.fakes.board import FakeBoard
from tests.fakes.virtual_time import LoopClock, elapse, in_virtual_time


@dataclass
class WatchedBoard(FakeBoard):
    """Keeps every call with its time; refuses those that it is told to."""

    calls: list[tuple[float, str, dict[str, Value]]] = field(default_factory=list)
    refuses: bool = False

    async def call(self, method: str, arguments: Mapping[str, Value]) -> dict[str, Value]:
        self.calls.append((asyncio.get_running_loop().time(), method, dict(arguments)))
        if self.refuses:
            raise CallRefused("busy", "led rests")
        return {} if method != "gpio_write" else await super().call(method, arguments)

    @property
    def values_told(self) -> list[Value]:
        return [arguments["value"] for _, _, arguments in self.calls]


@dataclass
class Shining:
    board: WatchedBoard
    light: StatusLight
    signs: LightSigns
    is_offline: bool = False


@contextlib.asynccontextmanager
async def shining(folder: Path, pin: str = "led") -> AsyncIterator[Shining]:
    board = WatchedBoard()
    activity, stop = Activity(), EmergencyStop(folder)
    light = StatusLight(board, pin, LoopClock(), pixels=8)
    parts = Shining(board, light, LightSigns(activity, stop, lambda: parts.is_offline))
    running = asyncio.create_task(light.run(parts.signs))
    await elapse(LEAST_INTERVAL_S)
    try:
        yield parts
    finally:
        running.cancel()
        await asyncio.wait([running])


@in_virtual_time
async def test_it_is_lit_steadily_while_there_is_nothing_to_do(tmp_path: Path) -> None:
    async with shining(tmp_path) as at_work:
        await elapse(2 * REFRESH_S)
        assert set(at_work.board.values_told) == {"on"}
        # Again only now and then, so that one that lapsed comes back
        assert len(at_work.board.calls) <= 3


@in_virtual_time
async def test_a_turn_blinks_and_a_question_in_it_blinks_faster(tmp_path: Path) -> None:
    async with shining(tmp_path) as at_work:
        activity = at_work.signs.activity
        with activity.thinking():
            await elapse(3.0)
            thinking = at_work.board.values_told.count("off")
            with activity.asking():
                await elapse(3.0)
            waiting = at_work.board.values_told.count("off") - thinking
        assert thinking == 2
        assert waiting >= 5
        await elapse(1.0)
        assert at_work.board.values["led"] == "on"


@in_virtual_time
async def test_calls_are_far_apart_however_much_happens(tmp_path: Path) -> None:
    async with shining(tmp_path) as at_work:
        for _ in range(200):
            with at_work.signs.activity.asking():
                await elapse(0.01)
        times = [at_s for at_s, _, _ in at_work.board.calls]
        gaps = [later - sooner for sooner, later in itertools.pairwise(times)]
        assert gaps
        assert min(gaps) >= LEAST_INTERVAL_S - 0.001


@in_virtual_time
async def test_while_everything_is_stopped_nothing_is_asked_of_the_board(tmp_path: Path) -> None:
    async with shining(tmp_path) as at_work:
        await at_work.signs.stop.engage("by a test")
        await elapse(LEAST_INTERVAL_S)
        at_work.board.calls.clear()
        await elapse(30)
        assert at_work.board.calls == []
        await at_work.signs.stop.clear()
        await elapse(2 * LEAST_INTERVAL_S)
        assert at_work.board.values_told == ["on"]


@in_virtual_time
async def test_a_person_who_moves_that_output_has_it_until_it_is_off_again(tmp_path: Path) -> None:
    async with shining(tmp_path) as at_work:
        at_work.light.moved("led", is_at_rest=False)
        at_work.light.moved("pump", is_at_rest=True)
        await elapse(LEAST_INTERVAL_S)
        at_work.board.calls.clear()
        with at_work.signs.activity.thinking():
            await elapse(30)
        assert at_work.board.calls == []
        at_work.light.moved("led", is_at_rest=True)
        await elapse(2 * LEAST_INTERVAL_S)
        assert at_work.board.values_told == ["on"]


@in_virtual_time
async def test_a_person_who_had_that_output_has_it_no_more_after_the_board_was_away(
    tmp_path: Path,
) -> None:
    async with shining(tmp_path) as at_work:
        at_work.light.moved("led", is_at_rest=False)
        at_work.board.unplug()
        await elapse(2 * RETRY_S)
        at_work.board.plug_in()
        at_work.board.calls.clear()
        await elapse(2 * RETRY_S)
        assert at_work.board.values_told == ["on"]


@in_virtual_time
async def test_a_board_that_comes_back_is_lit_again(tmp_path: Path) -> None:
    async with shining(tmp_path) as at_work:
        at_work.board.unplug()
        await elapse(2 * REFRESH_S)
        at_work.board.calls.clear()
        at_work.board.plug_in()
        await elapse(REFRESH_S + LEAST_INTERVAL_S)
        assert at_work.board.values["led"] == "on"


@in_virtual_time
async def test_a_board_that_refuses_is_left_in_peace_and_told_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with shining(tmp_path) as at_work:
        at_work.board.refuses = True
        at_work.board.calls.clear()
        with caplog.at_level(logging.WARNING), at_work.signs.activity.asking():
            await elapse(0.1)
            at_work.signs.activity.touch()
            await elapse(30)
        assert len(at_work.board.calls) <= 30 / RETRY_S + 2
        assert caplog.text.count("led rests") == 1


@in_virtual_time
async def test_a_pin_that_is_not_there_is_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        async with shining(tmp_path, "moon") as at_work:
            await elapse(1)
            assert at_work.board.calls == []
    assert caplog.text.count("no output moon") == 1


@pytest.mark.parametrize(
    ("can", "method", "arguments"),
    [
        ("pwm", "pwm_write", {"pin": "status", "frequency": 0, "duty": 100}),
        (
            "pixels",
            "pixels_write",
            {"pin": "status", "first": 0, "count": 8, "red": 0, "green": 24, "blue": 0},
        ),
    ],
)
def test_other_kinds_of_lights_shine_too(
    tmp_path: Path, can: str, method: str, arguments: dict[str, Value]
) -> None:
    @in_virtual_time
    async def shine() -> None:
        async with shining(tmp_path, "status") as at_work:
            manifest = at_work.board.manifest
            assert manifest is not None
            status = BoardPin(9, "status", "PB5", can=(can,))
            at_work.board.manifest = msgspec.structs.replace(manifest, pins=(status,))
            await elapse(2 * REFRESH_S)
            assert at_work.board.calls[-1][1:] == (method, arguments)

    shine()


@in_virtual_time
async def test_the_state_that_matters_most_is_shown(tmp_path: Path) -> None:
    async with shining(tmp_path) as at_work:
        signs, activity = at_work.signs, at_work.signs.activity
        assert signs.state() is LightState.READY
        at_work.is_offline = True
        assert signs.state() is LightState.OFFLINE
        activity.note_channel("telegram", is_deaf=True)
        assert signs.state() is LightState.DEAF
        with activity.thinking():
            assert signs.state() is LightState.THINKING
            with activity.asking():
                assert signs.state() is LightState.WAITING
                await signs.stop.engage("by a test")
                assert signs.state() is LightState.SAFE


def test_every_state_looks_different_by_rhythm_alone() -> None:
    assert set(LOOKS) == set(LightState)
    rhythms = {(look.on_s, look.off_s) if look else None for look in LOOKS.values()}
    assert len(rhythms) == len(LightState)
