"""A `SerialBoard` on a fake port with a scripted board behind it, running."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from agent.link.base import BoardState
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from agent.storage.lineage import NEVER_RESTORED, Lineage
from tests.fakes.peer import ScriptedBoard
from tests.fakes.ports import FakePort, FakePorts, Peer
from tests.fakes.virtual_time import LoopClock
from tests.waits import wait_until

# Far beyond every limit of the link: a state that has not come by then never comes
GIVE_UP_S = 60.0


@dataclass
class LinkedBoard:
    """Both ends of the link and the machine between them."""

    board: SerialBoard
    ports: FakePorts

    async def until(self, state: BoardState, trouble: str = "") -> None:
        """Wait until the board is in this state and its trouble has these words."""
        await wait_until(lambda: self._shows(state, trouble))

    def _shows(self, state: BoardState, trouble: str) -> bool:
        status = self.board.status
        return status.state is state and trouble in status.trouble


@contextlib.asynccontextmanager
async def linked(
    peer: Peer,
    folder: Path,
    port: type[FakePort] = FakePort,
    settings: BoardSettings | None = None,
    ports: FakePorts | None = None,
    lineage: Lineage = NEVER_RESTORED,
) -> AsyncIterator[LinkedBoard]:
    """Run the board's link for as long as the block lasts."""
    machine = ports or FakePorts(lambda: port(peer, seed=len(machine.opened) + 1))
    board = SerialBoard(settings or BoardSettings(), folder, LoopClock(), machine, lineage)
    running = asyncio.create_task(board.run())
    try:
        yield LinkedBoard(board, machine)
        # A bug in the link is a failure of the test, not of the task alone
        assert not running.done() or running.result()
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


@contextlib.asynccontextmanager
async def ready(
    folder: Path, port: type[FakePort] = FakePort, peer: ScriptedBoard | None = None
) -> AsyncIterator[tuple[LinkedBoard, ScriptedBoard]]:
    """The same, once the board is ready."""
    scripted = peer or ScriptedBoard()
    async with linked(scripted, folder, port) as link:
        await link.until(BoardState.READY)
        yield link, scripted
