import logging
from pathlib import Path

import pytest

from agent.errors import CallRefused
from agent.link import frame as wire
from agent.link.base import BoardState
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from tests.fakes.linked_board import ready
from tests.fakes.peer import LEASE_S, WRITE
from tests.fakes.ports import StalledPort
from tests.fakes.virtual_time import LoopClock, elapse, in_virtual_time

LED_ON = {"pin": "led", "value": "on"}


def now_s() -> float:
    return LoopClock().monotonic_s()


@in_virtual_time
async def test_an_output_stays_on_while_the_agent_lives(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        await link.board.call("gpio_write", LED_ON)
        await elapse(10 * LEASE_S)
        assert board.outputs[0] == 1
        renewals = [m for m, _ in board.requests if m == wire.METHOD_LEASE_RENEW]
        assert len(renewals) == pytest.approx(10 * 4, abs=2)


@in_virtual_time
async def test_an_output_goes_safe_when_the_agent_lets_go(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        await link.board.call("gpio_write", LED_ON)
        await elapse(5)
    stopped_s = now_s()
    await elapse(5)
    assert [(pin, value) for _, pin, value in board.record] == [(0, 1), (0, 0)]
    assert board.record[-1][0] - stopped_s <= LEASE_S


@in_virtual_time
async def test_what_was_only_read_is_not_held(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        await link.board.call("gpio_read", {"pin": "led"})
        await elapse(5)
        assert wire.METHOD_LEASE_RENEW not in [method for method, _ in board.requests]


@in_virtual_time
async def test_an_output_the_board_let_go_of_is_told_and_not_renewed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with ready(tmp_path) as (link, board):
        await link.board.call("gpio_write", LED_ON)
        board._set(0, 0)
        with caplog.at_level(logging.WARNING):
            await elapse(1)
        assert "released outputs (pins=led" in caplog.text
        board.requests.clear()
        await elapse(5)
        assert board.requests == []
        assert board.outputs[0] == 0


@in_virtual_time
async def test_an_output_that_was_switched_off_is_neither_renewed_nor_missed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with ready(tmp_path) as (link, board):
        await link.board.call("gpio_write", LED_ON)
        with caplog.at_level(logging.WARNING):
            await link.board.call("gpio_write", {"pin": "led", "value": "off"})
            board.requests.clear()
            await elapse(5)
        assert board.requests == []
        assert "released outputs" not in caplog.text


@in_virtual_time
async def test_switching_one_off_leaves_the_others_held(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        await link.board.call("gpio_write", LED_ON)
        await link.board.call("gpio_write", {"pin": "pump", "value": "on"})
        await link.board.call("gpio_write", {"pin": "pump", "value": "off"})
        await elapse(5)
        assert board.outputs == {0: 1, 1: 0}


@pytest.mark.parametrize("answer", [(8, b"what?"), (0, b"\x01")])
def test_a_renewal_that_fails_is_told_and_tried_again(
    tmp_path: Path, answer: tuple[int, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    @in_virtual_time
    async def fail_once() -> None:
        async with ready(tmp_path) as (link, board):
            await link.board.call("gpio_write", LED_ON)
            board.overrides[wire.METHOD_LEASE_RENEW] = answer
            with caplog.at_level(logging.WARNING):
                await elapse(0.7)
            assert "leases not renewed" in caplog.text
            del board.overrides[wire.METHOD_LEASE_RENEW]
            await elapse(5)
            assert board.outputs[0] == 1

    fail_once()


@in_virtual_time
async def test_release_makes_everything_safe_at_once(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        await link.board.call("gpio_write", LED_ON)
        await link.board.call("gpio_write", {"pin": "pump", "value": "on"})
        await link.board.release()
        assert board.outputs == {0: 0, 1: 0}
        board.requests.clear()
        await elapse(5)
        assert board.requests == []


@in_virtual_time
async def test_release_without_a_board_does_nothing(tmp_path: Path) -> None:
    board = SerialBoard(BoardSettings(), tmp_path, LoopClock())
    await board.release()
    assert board.status.state is BoardState.ABSENT


@in_virtual_time
async def test_release_that_fails_leaves_it_to_the_leases(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with ready(tmp_path, StalledPort) as (link, board):
        await link.board.call("gpio_write", LED_ON)
        (port,) = link.ports.opened
        assert isinstance(port, StalledPort)
        port.is_stalled = True
        with caplog.at_level(logging.WARNING):
            await link.board.release()
        assert "go safe when their leases end" in caplog.text
        await elapse(LEASE_S)
        assert board.outputs[0] == 0


@in_virtual_time
async def test_an_output_that_was_to_be_off_is_held_no_more_whatever_the_board_says(
    tmp_path: Path,
) -> None:
    async with ready(tmp_path) as (link, board):
        await link.board.call("gpio_write", LED_ON)
        board.overrides[WRITE] = (wire.IO, b"MemoryError")
        with pytest.raises(CallRefused):
            await link.board.call("gpio_write", {"pin": "led", "value": "off"})
        assert link.board.held == frozenset()
        await elapse(2 * LEASE_S)
        assert board.outputs[0] == 0


@in_virtual_time
async def test_an_output_that_was_not_switched_on_again_stays_held(tmp_path: Path) -> None:
    async with ready(tmp_path) as (link, board):
        await link.board.call("gpio_write", LED_ON)
        board.overrides[WRITE] = (wire.BUSY_CODE, b"too often")
        with pytest.raises(CallRefused):
            await link.board.call("gpio_write", LED_ON)
        await elapse(2 * LEASE_S)
        assert board.outputs[0] == 1
