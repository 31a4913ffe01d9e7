"""The configuration and the emergency stop against the real firmware."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from agent.errors import CallRefused
from agent.link.base import BoardState
from agent.link.board import SerialBoard
from agent.link.pin_settings import PinSettings
from agent.link.settings import BoardSettings
from agent.system.clock import SystemClock
from tests.fakes.board_sim import BoardSim
from tests.waits import stays, wait_until

WORLD = {"values": {"temperature": 24.5, "a0": 1.5, "light": 2.0, "button": 0}, "script": []}
# The led's pin under another name; it may be on only while the button is pressed
LAMP = PinSettings(
    pin="PC13", active="low", max_on_s=0.4, min_off_s=0.1, only_while={"button": "on"}
)
LONGER = PinSettings(
    pin="PC13", active="low", max_on_s=4.0, min_off_s=0.1, only_while={"button": "on"}
)
ON = {"pin": "lamp_1", "value": "on"}

pytestmark = pytest.mark.usefixtures("micropython_command")


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[BoardSim]:
    with BoardSim(tmp_path, WORLD) as sim:
        yield sim


@contextlib.asynccontextmanager
async def running(
    sim: BoardSim, folder: Path, pins: Mapping[str, PinSettings]
) -> AsyncIterator[SerialBoard]:
    settings = BoardSettings(port=str(sim.port), pins=dict(pins))
    board = SerialBoard(settings, folder, SystemClock())
    task = asyncio.create_task(board.run())
    try:
        await until(board, BoardState.READY)
        yield board
    finally:
        task.cancel()
        await asyncio.wait([task])


async def until_written(board: SerialBoard) -> None:
    """Switch the lamp on as soon as its interlock lets it."""

    async def is_written() -> bool:
        with contextlib.suppress(CallRefused):
            return await board.call("gpio_write", ON) == {"value": "on"}
        return False

    await wait_until(is_written)


async def reads(board: SerialBoard, value: str) -> bool:
    return await board.call("gpio_read", {"pin": "lamp_1"}) == {"value": value}


async def until(board: SerialBoard, state: BoardState) -> None:
    await wait_until(lambda: board.status.state is state)


async def test_a_configured_output_keeps_its_limits(sim: BoardSim, tmp_path: Path) -> None:
    async with running(sim, tmp_path, {"lamp_1": LAMP}) as board:
        assert board.status.trouble == ""
        assert board.manifest is not None
        assert "led" not in [pin.name for pin in board.manifest.pins]
        with pytest.raises(CallRefused, match="interlock"):
            await board.call("gpio_write", ON)
        sim.set(button=1)
        await until_written(board)
        # Renewed all the time, and off all the same
        await wait_until(partial(reads, board, "off"))


async def test_looser_waits_and_then_is_put_in_place(sim: BoardSim, tmp_path: Path) -> None:
    async with running(sim, tmp_path, {"lamp_1": LAMP}) as board:
        assert board.pending == ()
    async with running(sim, tmp_path, {"lamp_1": LONGER}) as board:
        assert board.pending == ("lamp_1 may be on at most 4000 ms instead of at most 400 ms",)
        board.agree()
        await until(board, BoardState.CONNECTING)
        await until(board, BoardState.READY)
        assert board.pending == ()
        sim.set(button=1)
        await until_written(board)
        await stays(partial(reads, board, "on"), 0.6)


async def test_what_the_firmware_refuses_is_named(sim: BoardSim, tmp_path: Path) -> None:
    twice = {"lamp_1": LAMP, "lamp_2": PinSettings(pin="PC13")}
    async with running(sim, tmp_path, twice) as board:
        assert "rejects its configuration: lamp_2: " in board.status.trouble
        assert board.misconfigured in board.status.trouble
        assert "lamp_2" in board.misconfigured
        await board.call("gpio_read", {"pin": "led"})


async def test_an_emergency_stop_is_felt_and_outlives_the_session(
    sim: BoardSim, tmp_path: Path
) -> None:
    async with running(sim, tmp_path, {}) as board:
        await board.call("gpio_write", {"pin": "pump", "value": "on"})
        board.stop()
        await wait_until(lambda: sim.value("pump") == 0)
    async with running(sim, tmp_path, {}) as board:
        with pytest.raises(CallRefused, match="unsafe_state"):
            await board.call("gpio_write", {"pin": "pump", "value": "on"})
        assert "released after an emergency stop" in await board.unlock()
        assert await board.call("gpio_write", {"pin": "pump", "value": "on"}) == {"value": "on"}
