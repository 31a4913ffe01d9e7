"""`barnacle chat`: a conversation in this terminal, with the running agent or an own one.

Attaching to a running agent loads nothing of an agent.
"""

import asyncio
import os
import socket
import sys
from argparse import Namespace
from pathlib import Path

from agent.app.foreground import lines_of, until_left, write_out
from agent.channels.attached.client import AgentConnection, AttachNotices
from agent.channels.attached.frames import MAX_SHOWN_FRAME_BYTES
from agent.channels.attached.lines import LineConnection
from agent.channels.attached.socket import NAME, SYSTEM_FOLDER, connected
from agent.channels.terminal import TerminalChannel
from agent.cli import configuration, exits
from agent.cli.loop import run_in_loop
from agent.errors import ChannelUnavailable, StateInUse
from agent.settings import Paths, Settings
from agent.system.clock import SystemClock

# An agent that is only just starting has its state before it listens
STARTING_PATIENCE_S = 3.0
_LOOK_S = 0.1


class _Way:
    """Way to the running agent, with the connection that found it."""

    def __init__(self, path: Path, first: socket.socket) -> None:
        self._path = path
        self._first: socket.socket | None = first

    def connect(self) -> LineConnection:
        """Connect; raise ChannelError if nobody listens there or we are refused."""
        first, self._first = self._first, None
        return LineConnection(first or connected(self._path), MAX_SHOWN_FRAME_BYTES)


def run(arguments: Namespace) -> int:
    settings, paths = configuration.load_own(arguments)
    return run_in_loop(_chat(arguments, settings, paths))


async def _chat(arguments: Namespace, settings: Settings, paths: Paths) -> int:
    plain = arguments.plain
    if (way := _find(arguments, paths)) is None:
        from agent.app import run  # noqa: PLC0415 - to attach needs nothing of an agent

        try:
            return await run.chat(settings, paths, plain=plain)
        except StateInUse:
            way = await _found_after_all(arguments, paths)
            if way is None:
                raise
    return await _attached(way, settings, paths, plain=plain)


async def _found_after_all(arguments: Namespace, paths: Paths) -> _Way | None:
    for _ in range(round(STARTING_PATIENCE_S / _LOOK_S)):
        if (way := _find(arguments, paths)) is not None:
            return way
        await asyncio.sleep(_LOOK_S)
    return None


def _find(arguments: Namespace, paths: Paths) -> _Way | None:
    """Return the way to the agent of this state folder, else to the machine's service.

    Raises:
        ChannelRefused: an agent runs there and refuses this user.
    """
    folders = [paths.state_dir]
    is_named = getattr(arguments, "state_dir", None) or os.environ.get("BARNACLE_STATE_DIR")
    if not is_named:
        folders.append(SYSTEM_FOLDER)
    for folder in folders:
        try:
            return _Way(folder / NAME, connected(folder / NAME))
        except ChannelUnavailable:
            continue
    return None


async def _attached(way: _Way, settings: Settings, paths: Paths, *, plain: bool) -> int:
    """Chat with the running agent until the person leaves; return the exit status."""
    plain = plain or not sys.stdin.isatty()
    lines = lines_of(settings, paths, plain=plain)
    clock = SystemClock()
    terminal = TerminalChannel(lines, write_out, clock, settings.terminal.prompt, plain=plain)
    notices = (
        AttachNotices(_no_greeting, _to_stderr)
        if plain
        else AttachNotices(_greeting, terminal.tell)
    )
    attachment = AgentConnection(terminal, way.connect, notices, clock, plain=plain)
    try:
        was_told = await until_left(_converse(attachment, terminal), attachment.stop)
        if was_told and not plain:
            write_out("\n")
    finally:
        lines.close()
    return exits.OK


async def _converse(attachment: AgentConnection, terminal: TerminalChannel) -> None:
    running = asyncio.ensure_future(attachment.run())
    speaking = asyncio.ensure_future(_speak(attachment, terminal))
    try:
        await asyncio.wait({running, speaking}, return_when=asyncio.FIRST_COMPLETED)
        for task in (running, speaking):
            if task.done():
                task.result()
        await attachment.leave()
    finally:
        for task in (running, speaking):
            task.cancel()
        await asyncio.wait({running, speaking})


async def _speak(attachment: AgentConnection, terminal: TerminalChannel) -> None:
    await attachment.welcomed.wait()
    await terminal.listen(attachment.deliver)


def _greeting(text: str) -> None:
    write_out(f"{text}\n/help lists the commands.\n")


def _no_greeting(_text: str) -> None:
    """Print no greeting: a pipe gets one answer per line and nothing else."""


def _to_stderr(text: str) -> None:
    print(f"barnacle: {text}", file=sys.stderr)
