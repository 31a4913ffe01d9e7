import asyncio
import os
import pty
import tty
from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop

from agent.errors import LinkLost, OutcomeUnknown
from agent.link.base import BoardState
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from agent.system.clock import SystemClock
from tests.fakes.peer import ScriptedBoard
from tests.waits import wait_until

# What a replugged board may take to work again
REPLUG_LIMIT_S = 3.0
NewLoop = Callable[[], asyncio.AbstractEventLoop]


class PluggedBoard:
    """A scripted board on a pseudo-terminal that a link leads to, for as long as it is in."""

    def __init__(self, board: ScriptedBoard, link: Path) -> None:
        self._near, self._far = pty.openpty()
        tty.setraw(self._far)
        os.set_blocking(self._near, False)
        self._board = board
        board.attach(self._send)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._near, lambda: board.receive(os.read(self._near, 4096)))
        link.unlink(missing_ok=True)
        link.symlink_to(os.ttyname(self._far))
        self._link = link

    def _send(self, data: bytes) -> None:
        os.write(self._near, data)

    def pull(self) -> None:
        # What the board repeats from here on goes nowhere
        self._board.attach(lambda _data: None)
        self._loop.remove_reader(self._near)
        os.close(self._near)
        os.close(self._far)
        self._link.unlink()


async def until(board: SerialBoard, state: BoardState) -> None:
    await wait_until(lambda: board.status.state is state, REPLUG_LIMIT_S)


@pytest.mark.parametrize(
    "new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)
def test_called_pulled_in_the_middle_plugged_in_and_called(
    tmp_path: Path, new_loop: NewLoop
) -> None:
    async def replug() -> None:
        link, scripted = tmp_path / "port", ScriptedBoard()
        plugged = PluggedBoard(scripted, link)
        board = SerialBoard(BoardSettings(port=str(link)), tmp_path, SystemClock())
        running = asyncio.create_task(board.run())
        await until(board, BoardState.READY)
        assert await board.call("gpio_write", {"pin": "led", "value": "on"}) == {"value": "on"}

        scripted.answer_delay_s = 60.0
        call = asyncio.create_task(board.call("pulse", {"pin": "led"}))
        # Sent is not enough: the board must have begun what it counts
        await wait_until(lambda: scripted.pulses == 1)
        plugged.pull()
        with pytest.raises(OutcomeUnknown, match="unplugged"):
            await call
        await until(board, BoardState.ABSENT)
        with pytest.raises(LinkLost, match="plugged in"):
            await board.call("pulse", {"pin": "led"})

        scripted.answer_delay_s = 0.0
        plugged = PluggedBoard(scripted, link)
        await until(board, BoardState.READY)
        assert await board.call("pulse", {"pin": "led"}) == {"count": 2}
        running.cancel()
        await asyncio.wait([running])
        assert board.status.state is BoardState.CLOSED
        plugged.pull()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(replug())
