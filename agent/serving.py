"""An agent at work: in this terminal with a person, or as a service for its channels.

Begins and ends a run; what an agent is made of is composed elsewhere.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import TextIO

from agent.app import Agent, assemble, at_work
from agent.channels.lines import Lines, PipeLines, TerminalLines
from agent.channels.terminal import Terminal
from agent.dispatch.dispatcher import Dispatcher
from agent.link.base import BoardState
from agent.memory.backends import Place
from agent.memory.switching import left_behind
from agent.settings import Paths, Settings
from agent.storage import lock

_log = logging.getLogger(__name__)

# A board that is plugged in answers its greeting well within this; a chat starts without it
BOARD_PATIENCE_S = 3.0
# A board that is not plugged in is not waited for: this is only the time to look
LOOKING_PATIENCE_S = 0.5
# How often a starting chat looks whether the board has answered
BOARD_LOOK_S = 0.05
# A chat's log is begun anew beyond this; the one before it is kept
MAX_CHAT_LOG_BYTES = 1_000_000


async def chat(settings: Settings, paths: Paths, *, plain: bool) -> int:
    """A conversation in this terminal, until the person leaves; the exit status."""
    with lock.hold(paths.state_dir), _chat_log(paths) as log:
        agent = assemble(settings, paths, os.environ, log)
        plain = plain or not sys.stdin.isatty()
        lines = _lines(settings, paths, plain=plain)
        terminal = Terminal(lines, _write_out, agent.clock, settings.terminal.prompt, plain=plain)
        try:
            async with at_work(agent, [terminal]) as (dispatcher, reporter, tasks):
                await dispatcher.abandon(terminal.name)
                await _greet_board(agent)
                if not plain:
                    place = Place(settings.memory, paths.state_dir, agent.embedder, agent.clock)
                    for sentence in filter(None, (reporter.sentences(), left_behind(place))):
                        _write_out(f"{sentence}\n")
                    _write_out("/help lists the commands.\n")
                # What was to be told while nobody was here
                await dispatcher.resume(tasks)
                listening = terminal.listen(partial(dispatcher.deliver, tasks=tasks))
                was_told = await _until_left(listening, partial(_interrupt, terminal, dispatcher))
                if was_told and not plain:
                    _write_out("\n")
        finally:
            lines.close()
    return 0


async def run(settings: Settings, paths: Paths) -> int:
    """Serve every configured channel until told to stop; the exit status."""
    with lock.hold(paths.state_dir):
        agent = assemble(settings, paths, os.environ, sys.stderr)
        async with at_work(agent, []) as (dispatcher, reporter, tasks):
            _log.info("started: %s", " ".join(reporter.sentences().split("\n")))
            _log.warning("no channel is configured: `barnacle chat` talks to the agent")
            await dispatcher.resume(tasks)
            await _until_left(asyncio.Event().wait(), lambda: False)
            _log.info("stopping")
    return 0


async def _greet_board(agent: Agent) -> None:
    """Give boards that are plugged in the time to answer, so that the first words find them."""
    begun_s = agent.clock.monotonic_s()
    while missing := {board.status.state for board in agent.boards} - {BoardState.READY}:
        is_absent = missing == {BoardState.ABSENT}
        patience_s = LOOKING_PATIENCE_S if is_absent else BOARD_PATIENCE_S
        if agent.clock.monotonic_s() - begun_s > patience_s:
            return
        await agent.clock.sleep(BOARD_LOOK_S)


async def _until_left(
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


def _interrupt(terminal: Terminal, dispatcher: Dispatcher) -> bool:
    conversation = terminal.busy_conversation
    return conversation is not None and dispatcher.stop(conversation)


def _lines(settings: Settings, paths: Paths, *, plain: bool) -> Lines:
    if plain:
        return PipeLines()
    return TerminalLines(paths.history_file, settings.terminal.history_lines)


def _write_out(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


@contextlib.contextmanager
def _chat_log(paths: Paths) -> Iterator[TextIO]:
    """Where a chat's records go: its terminal is for the conversation alone."""
    path = paths.chat_log
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size > MAX_CHAT_LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
    with path.open("a", encoding="utf-8") as log:
        yield log
