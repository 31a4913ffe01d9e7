"""F11: the board resets in the middle of a command."""

import asyncio
import time
from pathlib import Path

import pytest

from agent.errors import OutcomeUnknown
from agent.link.base import BoardState
from tests.fakes.board_sim import BoardSim
from tests.fakes.linked_board import ready
from tests.fakes.running_board import frozen, running, under_way, until
from tests.fakes.virtual_time import elapse, in_virtual_time
from tests.waits import stays, wait_until


@pytest.mark.parametrize(
    ("cause", "words"),
    [(2, "reset pin"), (3, "watchdog"), (4, "brown-out"), (5, "software")],
)
def test_the_cause_is_told_the_call_is_unknown_and_nothing_is_restored(
    tmp_path: Path, cause: int, words: str
) -> None:
    @in_virtual_time
    async def reset() -> None:
        async with ready(tmp_path) as (link, board):
            await link.board.call("gpio_write", {"pin": "led", "value": "on"})
            board.answer_delay_s = 5.0
            call = asyncio.create_task(link.board.call("pulse", {"pin": "led"}))
            await elapse(0.1)
            board.reset(cause)
            with pytest.raises(OutcomeUnknown):
                await call
            await link.until(BoardState.CONNECTING)
            await link.until(BoardState.READY)
            assert words in link.board.status.trouble
            await elapse(30)
            assert board.outputs[0] == 0
            assert board.pulses == 1

    reset()


async def test_the_real_firmware_starts_with_its_outputs_safe_and_counts_the_boot(
    sim: BoardSim, tmp_path: Path
) -> None:
    async with running(sim, tmp_path) as board:
        assert board.status.identity is not None
        boots = board.status.identity.boot_count
        await board.call("gpio_write", {"pin": "led", "value": "on"})
        async with frozen(sim, 1_500):
            write = asyncio.create_task(board.call("gpio_write", {"pin": "pump", "value": "on"}))
            await under_way(board, 1)
            sim.kill()
            with pytest.raises(OutcomeUnknown):
                await write
            await until(board, BoardState.ABSENT, BoardState.CONNECTING)
        # Boots are counted by the second in which they happened
        second = int(time.time())
        await wait_until(lambda: int(time.time()) > second)
        await asyncio.to_thread(sim.start)
        await until(board, BoardState.READY)
        assert board.status.identity is not None
        assert board.status.identity.boot_count > boots
        await stays(lambda: (sim.value("led"), sim.value("pump")) == (0, 0), 0.5)
