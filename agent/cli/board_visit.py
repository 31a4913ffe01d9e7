"""A command's connection to a board: which board it is, and that no running agent has its port."""

import contextlib
import sys
from argparse import Namespace
from collections.abc import AsyncIterator

import msgspec

from agent.app.boards import open_board
from agent.errors import BadArguments, LinkLost
from agent.health.status import read_status
from agent.health.visit import visit
from agent.link.base import BoardState, BoardStatus
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from agent.settings import Paths, Settings
from agent.system.clock import SystemClock


def chosen(settings: Settings, arguments: Namespace) -> BoardSettings:
    every = {board.name: board for board in settings.every_board()}
    name = arguments.board or next(iter(every))
    if name not in every:
        raise BadArguments(f"no board named {name}; configured boards: {', '.join(every)}")
    port = arguments.port
    return msgspec.structs.replace(every[name], port=port) if port else every[name]


@contextlib.asynccontextmanager
async def ready_board(
    settings: BoardSettings, paths: Paths, *, is_agreed: bool
) -> AsyncIterator[SerialBoard]:
    """The board when it is ready.

    Raises:
        LinkLost: it is not, and why.
    """
    refuse_if_taken(settings, paths)
    board = open_board(settings, paths, SystemClock())
    if is_agreed:
        board.agree()
    async with visit(board, _show_progress):
        status = board.status
        if status.state is not BoardState.READY:
            raise LinkLost(status.trouble or f"the board at {status.port} does not answer")
        yield board


def refuse_if_taken(settings: BoardSettings, paths: Paths) -> None:
    """Raise LinkLost if the running agent uses the port."""
    agent = read_status(paths.status_file)
    if agent is None or not agent.is_running:
        return
    ports = [board.port for board in agent.every_board if board.port]
    if taken := [port for port in ports if settings.port in {"", port}]:
        raise LinkLost(
            f"the running agent (pid {agent.pid}) uses the board at {taken[0]}: ask the "
            "agent, or stop it first"
        )


def _show_progress(status: BoardStatus) -> None:
    if sys.stderr.isatty():
        waiting = status.trouble or f"waiting for the board at {status.port}"
        print(f"{waiting} ...", file=sys.stderr)
