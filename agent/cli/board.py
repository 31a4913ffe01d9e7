"""`barnacle board`: which boards are there, what one is and can do, and one call by hand."""

import asyncio
import contextlib
import sys
from argparse import Namespace
from collections.abc import AsyncIterator

import msgspec

from agent.cli import board_call, board_info, board_list, surroundings
from agent.clock import SystemClock
from agent.errors import LinkLost
from agent.health.status import read_status
from agent.health.visit import visit
from agent.link.base import Board, BoardState, BoardStatus
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from agent.settings import Paths, Settings


def run(arguments: Namespace) -> int:
    settings, paths = surroundings.of(arguments)
    if arguments.action == "list":
        return board_list.run(settings.board, as_json=arguments.json)
    return asyncio.run(_with_board(arguments, settings, paths))


async def _with_board(arguments: Namespace, settings: Settings, paths: Paths) -> int:
    chosen = _chosen(settings.board, arguments.port)
    async with _ready_board(chosen, paths) as board:
        if arguments.action == "info":
            return board_info.run(board, as_json=arguments.json)
        return await board_call.run(board, arguments)


def _chosen(settings: BoardSettings, port: str | None) -> BoardSettings:
    return msgspec.structs.replace(settings, port=port) if port else settings


@contextlib.asynccontextmanager
async def _ready_board(settings: BoardSettings, paths: Paths) -> AsyncIterator[Board]:
    """The board when it is ready.

    Raises:
        LinkLost: it is not, and why.
    """
    _refuse_if_taken(settings, paths)
    board = SerialBoard(settings, paths.manifests, SystemClock())
    async with visit(board, _show_progress):
        status = board.status
        if status.state is not BoardState.READY:
            raise LinkLost(status.trouble or f"the board at {status.port} does not answer")
        yield board


def _refuse_if_taken(settings: BoardSettings, paths: Paths) -> None:
    """The running agent lets nobody else at its port: nothing to wait for."""
    agent = read_status(paths.status_file)
    if agent is None or not agent.is_running or not agent.board.port:
        return
    if settings.port in {"", agent.board.port}:
        raise LinkLost(
            f"the running agent (pid {agent.pid}) uses the board at {agent.board.port}: "
            "ask it, or stop it first"
        )


def _show_progress(status: BoardStatus) -> None:
    if sys.stderr.isatty():
        waiting = status.trouble or f"waiting for the board at {status.port}"
        print(f"{waiting} ...", file=sys.stderr)
