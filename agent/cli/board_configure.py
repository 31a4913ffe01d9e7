"""`barnacle board configure`: what the board would be told, and the owner's yes to it."""

import asyncio

from agent.cli import exits
from agent.cli.output import say
from agent.health.visit import READY_TIMEOUT_S
from agent.link.base import Board, BoardState
from agent.link.board import SerialBoard

_LOOK_EVERY_S = 0.05


async def run(board: SerialBoard, *, is_agreed: bool) -> int:
    """What is tighter was put in place by connecting; what is looser needs `--yes`."""
    if board.pending and not is_agreed:
        say(f"{board.name} keeps its configuration, because the new one is looser:")
        for words in board.pending:
            say(f"  {words}")
        say("`barnacle board configure --yes` puts it in place")
        return exits.FAILED
    if board.pending:
        board.agree()
        await _put_in_place(board)
    if board.pending or board.status.state is not BoardState.READY:
        say(f"{board.name} was not configured: {board.status.trouble}")
        return exits.FAILED
    return _told(board)


def _told(board: Board) -> int:
    if "refuses its configuration" in board.status.trouble:
        say(f"{board.name}: {board.status.trouble}")
        return exits.FAILED
    say(f"{board.name} has the configuration of the settings")
    return exits.OK


async def _put_in_place(board: Board) -> None:
    """Until it has come back with nothing pending, or has had the time to."""
    loop = asyncio.get_running_loop()
    until_s = loop.time() + READY_TIMEOUT_S
    while loop.time() < until_s:
        await asyncio.sleep(_LOOK_EVERY_S)
        if board.status.state is BoardState.READY and not board.pending:
            return
