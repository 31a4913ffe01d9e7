"""Subscriptions over the real firmware: nothing lost, nothing doubled, whatever the line does."""

import asyncio
import contextlib
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agent.link.base import BoardState
from agent.link.board import SerialBoard
from agent.link.discovery import Ports
from agent.link.events import BoardEvent, BoardSubscription, EventCondition, Watch
from agent.link.settings import BoardSettings
from agent.system.clock import SystemClock
from tests.fakes.board_sim import BoardSim
from tests.fakes.spoiled_ports import LossySerialPort, SpoiledPorts
from tests.waits import PATIENCE_S, wait_until

WORLD = {"values": {"temperature": 24.5, "a0": 1.5, "light": 2.0, "button": 0}, "script": []}
# What a person would call at once
EDGE_LIMIT_S = 0.05

pytestmark = pytest.mark.usefixtures("micropython_command")


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[BoardSim]:
    with BoardSim(tmp_path, WORLD) as sim:
        yield sim


@contextlib.asynccontextmanager
async def running(
    sim: BoardSim, folder: Path, ports: Ports | None = None
) -> AsyncIterator[SerialBoard]:
    board = SerialBoard(BoardSettings(port=str(sim.port)), folder, SystemClock(), ports)
    task = asyncio.create_task(board.run())
    try:
        await until_ready(board)
        yield board
    finally:
        task.cancel()
        await asyncio.wait([task])


async def until_ready(board: SerialBoard) -> None:
    await wait_until(lambda: board.status.state is BoardState.READY)


async def listening(board: SerialBoard, watch: Watch) -> BoardSubscription:
    """A subscription that the board knows."""
    subscription = board.subscribe(watch)
    await heard_of(subscription)
    return subscription


async def heard_of(subscription: BoardSubscription) -> None:
    await wait_until(lambda: not subscription.trouble)


async def following(subscription: BoardSubscription, count: int) -> list[BoardEvent]:
    async with asyncio.timeout(PATIENCE_S):
        return [await anext(subscription) for _ in range(count)]


async def silence(subscription: BoardSubscription) -> bool:
    """Whether nothing comes for longer than an event takes."""
    try:
        async with asyncio.timeout(0.2):
            await anext(subscription)
    except TimeoutError:
        return True
    return False


async def press(sim: BoardSim, value: int) -> None:
    await asyncio.to_thread(sim.set, button=value)


async def test_a_bouncing_button_is_one_event_with_its_time(sim: BoardSim, tmp_path: Path) -> None:
    async with running(sim, tmp_path) as board:
        subscription = await listening(board, Watch("key", least_interval_ms=30))
        # By the answer to a ping
        await wait_until(lambda: board._live.connection.session.device_clock.is_set)
        before_s = time.time()
        await asyncio.to_thread(sim.order, {"bounce": {"button": 1}})
        (event,) = await following(subscription, 1)
        after_s = time.time()
        assert (event.source, event.value, event.dropped) == ("button", "on", 0)
        assert before_s - 0.02 <= event.at_s <= after_s + 0.02
        assert await silence(subscription)


async def test_an_edge_is_here_at_once(sim: BoardSim, tmp_path: Path) -> None:
    took_s = []
    async with running(sim, tmp_path) as board:
        subscription = await listening(board, Watch("button"))
        for number in range(30):
            begun_s = time.monotonic()
            await press(sim, (number + 1) % 2)
            await following(subscription, 1)
            took_s.append(time.monotonic() - begun_s)
    assert statistics.median(took_s) < EDGE_LIMIT_S


async def test_values_come_in_their_unit(sim: BoardSim, tmp_path: Path) -> None:
    async with running(sim, tmp_path) as board:
        warm = await listening(
            board, Watch("mcu_temperature", when=EventCondition.THRESHOLD, low=29.0, high=30.0)
        )
        dark = await listening(
            board, Watch("light", when=EventCondition.THRESHOLD, low=0.5, high=0.6)
        )
        # The side on which a value is found is told at once
        (bright,) = await following(dark, 1)
        (cool,) = await following(warm, 1)
        sim.set(temperature=31.5, light=0.2)
        (event,) = await following(warm, 1)
        assert (cool.value, event.value, event.unit) == (24.5, pytest.approx(31.5), "°C")
        (event,) = await following(dark, 1)
        assert (bright.value, event.value) == (pytest.approx(2.0, abs=0.01), pytest.approx(0.2))


async def test_credit_is_given_back_as_events_are_taken(sim: BoardSim, tmp_path: Path) -> None:
    async with running(sim, tmp_path) as board:
        subscription = await listening(board, Watch("button"))
        for number in range(40):
            await press(sim, (number + 1) % 2)
            (event,) = await following(subscription, 1)
            assert (event.number, event.dropped) == (number + 1, 0)


async def test_what_a_slow_subscriber_misses_is_counted(sim: BoardSim, tmp_path: Path) -> None:
    async with running(sim, tmp_path) as board:
        subscription = await listening(board, Watch("button"))
        told = []
        for number in range(1000):
            sim.set(button=(number + 1) % 2)
            if number % 40 == 0:
                told += await following(subscription, 1)
        # What was missed last is told by the next one that is not
        await press(sim, 1)
        while told[-1].number < 1001:
            told += await following(subscription, 1)
        assert len(told) < 1000
        assert len(told) + sum(event.dropped for event in told) == 1001


async def test_a_line_that_loses_every_fifth_frame_loses_no_event(
    sim: BoardSim, tmp_path: Path
) -> None:
    ports = SpoiledPorts(BoardSettings(port=str(sim.port)), LossySerialPort)
    async with running(sim, tmp_path, ports) as board:
        subscription = await listening(board, Watch("button"))
        connection = len(ports.opened)
        told = []
        for number in range(100):
            await press(sim, (number + 1) % 2)
            if number % 4 == 3:
                told += await following(subscription, 4)
        assert len(ports.opened) == connection
        assert [event.number for event in told] == list(range(1, 101))
        assert [event.value for event in told] == ["on", "off"] * 50
        assert sum(event.dropped for event in told) == 0


async def test_a_subscription_outlives_the_cable(sim: BoardSim, tmp_path: Path) -> None:
    async with running(sim, tmp_path) as board:
        subscription = await listening(board, Watch("button"))
        await press(sim, 1)
        await following(subscription, 1)
        sim.kill()
        await wait_until(lambda: subscription.trouble)
        await asyncio.to_thread(sim.start)
        await heard_of(subscription)
        await press(sim, 1)
        (event,) = await following(subscription, 1)
        assert (event.value, event.number) == ("on", 1)


async def test_a_closed_subscription_makes_room_on_the_board(sim: BoardSim, tmp_path: Path) -> None:
    async with running(sim, tmp_path) as board:
        for _ in range(20):
            subscription = await listening(board, Watch("button"))
            subscription.close()
        with pytest.raises(StopAsyncIteration):
            await anext(subscription)


async def test_what_the_board_does_not_have_is_told_as_trouble(
    sim: BoardSim, tmp_path: Path
) -> None:
    async with running(sim, tmp_path) as board:
        subscription = board.subscribe(Watch("moon"))
        await wait_until(lambda: "moon" in subscription.trouble)
        seventeen = [board.subscribe(Watch("button")) for _ in range(17)]
        await wait_until(lambda: "no more" in seventeen[-1].trouble)
        assert [one.trouble for one in seventeen[:16]] == [""] * 16
