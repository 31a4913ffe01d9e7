"""A conversation in this terminal: its lines, its screen, and the signals that end it."""

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine

from agent.channels.lines import LineSource, PipeLines, TerminalLines
from agent.settings import Paths, Settings


def lines_of(settings: Settings, paths: Paths, *, plain: bool) -> LineSource:
    if plain:
        return PipeLines()
    return TerminalLines(paths.history_file, settings.terminal.history_lines)


def write_out(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


async def until_left(
    work: Coroutine[object, object, object], interrupt: Callable[[], bool]
) -> bool:
    """Run `work` until it ends, or until a signal says to leave: then True.

    A SIGINT that `interrupt` has a use for does not say that.
    """
    loop = asyncio.get_running_loop()
    leave = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, leave.set)
    loop.add_signal_handler(signal.SIGINT, lambda: None if interrupt() else leave.set())
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(leave.wait())
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        return leave.is_set()
    finally:
        for task in (working, leaving):
            task.cancel()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(name)
