"""`barnacle estop`: everything safe and still, whether or not an agent runs; `--clear` ends it.

A running agent is told by a file in the state folder; without one the boards are told directly.
A configuration with mistakes holds up no stop.
"""

import asyncio
import time
from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from agent.app.boards import open_boards
from agent.cli import configuration, exits
from agent.cli.output import say
from agent.health.status import AgentStatus, read_status
from agent.health.visit import visit
from agent.link.base import BoardState
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from agent.security import estop
from agent.settings import Paths, Settings
from agent.system.clock import SystemClock

if TYPE_CHECKING:
    from agent.errors import ConfigRefused

# The agent acts within 0.2 s; what it says of itself follows within 2 s
CONFIRM_TIMEOUT_S = 3.0
_LOOK_EVERY_S = 0.1
_REASON = "by `barnacle estop`"
# It holds the ports of its boards, and looks for the file
_NOT_TOLD = (
    "the running agent (pid {pid}) does not know of it: send it /estop in a chat, or end it "
    "(`sudo systemctl stop barnacle`, or `kill {pid}`), which makes every output safe"
)


def run(arguments: Namespace) -> int:
    refused: ConfigRefused | None = None
    if arguments.clear:
        settings, paths = configuration.load(arguments)
        is_told = _clear(paths)
    else:
        settings, paths, refused = configuration.load_to_stop(arguments)
        is_told = _set(paths)
    status = read_status(paths.status_file)
    if status is not None and status.is_running:
        if is_told:
            return _confirm(paths, status.pid, is_clear=arguments.clear)
        say(_NOT_TOLD.format(pid=status.pid))
        return exits.FAILED
    if refused is not None:
        settings = _with_last_boards(status)
    is_done = asyncio.run(_tell_boards(settings, paths, is_clear=arguments.clear))
    if refused is not None:
        # Not before: what could be stopped without the file is stopped
        raise refused
    return exits.OK if is_told and is_done else exits.FAILED


def _set(paths: Paths) -> bool:
    is_recorded = estop.record(paths.state_dir, _REASON)
    say(
        "the emergency stop is set; `barnacle estop --clear` clears it"
        if is_recorded
        else f"cannot record the emergency stop in {paths.state_dir}"
    )
    return is_recorded


def _clear(paths: Paths) -> bool:
    was_set = estop.remove(paths.state_dir)
    say("the emergency stop is cleared" if was_set else "the emergency stop was not set")
    return True


def _confirm(paths: Paths, pid: int, *, is_clear: bool) -> int:
    if _comes_true(paths, lambda status: bool(status.stopped) != is_clear):
        say(f"the running agent (pid {pid}) {'may act again' if is_clear else 'has stopped'}")
        return exits.OK
    say(f"the running agent (pid {pid}) has not confirmed it: check its boards yourself")
    return exits.FAILED


def _comes_true(paths: Paths, is_so: Callable[[AgentStatus], bool]) -> bool:
    until_s = time.monotonic() + CONFIRM_TIMEOUT_S
    while time.monotonic() < until_s:
        status = read_status(paths.status_file)
        if status is not None and is_so(status):
            return True
        time.sleep(_LOOK_EVERY_S)
    return False


def _with_last_boards(status: AgentStatus | None) -> Settings:
    """Return settings with the boards of the agent that ran last; without any, one on USB."""
    reports = status.every_board if status is not None else ()
    return Settings(boards={one.name: BoardSettings(port=one.port) for one in reports if one.port})


async def _tell_boards(settings: Settings, paths: Paths, *, is_clear: bool) -> bool:
    boards = open_boards(settings, paths, SystemClock())
    return all(await asyncio.gather(*(_tell(board, is_clear=is_clear) for board in boards)))


async def _tell(board: SerialBoard, *, is_clear: bool) -> bool:
    """Tell the board; return true if it is as it should be, or if there is none."""
    if not is_clear:
        board.stop()
    async with visit(board):
        status = board.status
        if status.state is not BoardState.READY:
            say(f"{board.name}: not stopped, {status.trouble or 'no answer'}")
            return status.state is BoardState.ABSENT
        if is_clear:
            say(await board.unlock())
        else:
            say(f"{board.name}: stopped at {status.port}")
    return True
