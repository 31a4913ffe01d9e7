"""`barnacle board`: which boards are there, what one is and can do, and one call by hand."""

import asyncio
import contextlib
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Sequence

import msgspec

from agent.cli import board_call, board_info, board_list, board_update, configuration, exits
from agent.cli.output import say
from agent.errors import BadArguments, LinkLost
from agent.hardware.enable_lines import open_enable_lines
from agent.health.status import read_status
from agent.health.visit import visit
from agent.link.base import BoardState, BoardStatus
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from agent.settings import Paths, Settings, enable_gpios
from agent.system.clock import SystemClock


def disable(gpios: Sequence[int]) -> int:
    """Opening a line switches it off; one that an agent still holds is refused to us."""
    for line in open_enable_lines(gpios):
        line.close()
    named = ", ".join(f"GPIO {gpio}" for gpio in gpios)
    print(f"off: {named}" if named else "nothing to switch off: no board has an enable_gpio")
    return exits.OK


def configure(board: SerialBoard) -> int:
    if board.pending:
        say(f"{board.name} keeps its present configuration, because the new one has looser limits:")
        for words in board.pending:
            say(f"  {words}")
        say("To accept it, run `barnacle board configure --yes`")
        return exits.FAILED
    if board.misconfigured:
        say(f"{board.name}: {board.misconfigured}")
        return exits.FAILED
    say(f"{board.name} uses the configuration of the settings")
    return exits.OK


def run(arguments: Namespace) -> int:
    settings, paths = configuration.load(arguments)
    if arguments.action == "list":
        return board_list.run(settings.every_board(), as_json=arguments.json)
    if arguments.action == "disable":
        return disable(enable_gpios(settings))
    return asyncio.run(_with_board(arguments, settings, paths))


async def _with_board(arguments: Namespace, settings: Settings, paths: Paths) -> int:
    chosen = _chosen(settings, arguments)
    is_agreed = arguments.action == "configure" and arguments.yes
    async with _ready_board(chosen, paths, is_agreed=is_agreed) as board:
        if arguments.action == "info":
            return board_info.run(board, as_json=arguments.json)
        if arguments.action == "configure":
            return configure(board)
        if arguments.action == "update":
            return await board_update.run(board, arguments)
        return await board_call.run(board, arguments)


def _chosen(settings: Settings, arguments: Namespace) -> BoardSettings:
    every = {board.name: board for board in settings.every_board()}
    name = arguments.board or next(iter(every))
    if name not in every:
        raise BadArguments(f"no board named {name}; configured boards: {', '.join(every)}")
    port = arguments.port
    return msgspec.structs.replace(every[name], port=port) if port else every[name]


@contextlib.asynccontextmanager
async def _ready_board(
    settings: BoardSettings, paths: Paths, *, is_agreed: bool
) -> AsyncIterator[SerialBoard]:
    """The board when it is ready.

    Raises:
        LinkLost: it is not, and why.
    """
    _refuse_if_taken(settings, paths)
    board = SerialBoard(settings, paths.board_folder(settings), SystemClock())
    if is_agreed:
        board.agree()
    async with visit(board, _show_progress):
        status = board.status
        if status.state is not BoardState.READY:
            raise LinkLost(status.trouble or f"the board at {status.port} does not answer")
        yield board


def _refuse_if_taken(settings: BoardSettings, paths: Paths) -> None:
    """The running agent lets nobody else at its port: nothing to wait for."""
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
