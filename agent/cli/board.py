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
    board = SerialBoard(settings, paths.manifests, SystemClock())
    async with visit(board, _show_progress):
        if board.status.state is not BoardState.READY:
            raise LinkLost(_why_not(board.status, paths))
        yield board


def _why_not(status: BoardStatus, paths: Paths) -> str:
    agent = read_status(paths.status_file)
    if agent is not None and agent.is_running and agent.board.port == status.port:
        return (
            f"the running agent (pid {agent.pid}) uses the board at {status.port}: "
            "ask it, or stop it first"
        )
    return status.trouble or f"the board at {status.port} does not answer"


def _show_progress(status: BoardStatus) -> None:
    if sys.stderr.isatty():
        waiting = status.trouble or f"waiting for the board at {status.port}"
        print(f"{waiting} ...", file=sys.stderr)
