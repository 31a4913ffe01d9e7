"""Agent's side of the bridge: one process for all servers, as long as one of them is in use.

A line that is invalid or too long ends it, with every server; the next call starts it anew.
"""

import asyncio
import contextlib
import itertools
import os
import signal
import sys
from pathlib import Path

import msgspec

from agent.security.environment import child_environment
from agent.tools.mcp.lines import (
    MAX_LINE_BYTES,
    BridgeAnswer,
    BridgeRequest,
    EndRequest,
    ServerSetup,
    StartRequest,
)

# One that works ends a server at once when told to; after this it is killed with all of them
END_NOW_S = 2.0

_decode = msgspec.json.Decoder(BridgeAnswer).decode


class BridgeProcess:
    """Process of the bridge, started with the first connection and ended with the last.

    Args:
        folder: its home, where it starts.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # The last one takes connections; those before it are on their way out
        self._started: list[_Running] = []
        self._starting = asyncio.Lock()
        self._numbers = itertools.count(1)

    @property
    def pid(self) -> int | None:
        """Return its process number; None while it does not run."""
        return next((one.process.pid for one in self._started if one.is_alive), None)

    async def open(self, name: str) -> "BridgeConnection":
        """Return a new connection.

        Raises:
            OSError: the process cannot be started.
        """
        async with self._starting:
            self._started = [one for one in self._started if one.is_alive]
            if not self._started or not self._started[-1].takes_more:
                self._started.append(await _launched(self._folder))
            running = self._started[-1]
            connection = BridgeConnection(f"{name}#{next(self._numbers)}", running)
            running.connections[connection.key] = connection
            return connection

    async def settle(self, limit_s: float) -> None:
        """Wait for the end of what has nothing to do any more."""
        leaving = [one for one in self._started if one.is_leaving]
        await asyncio.gather(*(one.end(limit_s) for one in leaving))


class _Running:
    """One process, and the task that reads from it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.connections: dict[str, BridgeConnection] = {}
        self.is_leaving = False
        self._reading = asyncio.ensure_future(self._read())

    @property
    def is_alive(self) -> bool:
        return not self._reading.done()

    @property
    def takes_more(self) -> bool:
        return self.is_alive and not self.is_leaving

    def tell(self, request: BridgeRequest) -> None:
        assert self.process.stdin is not None
        if not self.process.stdin.is_closing():
            self.process.stdin.write(msgspec.json.encode(request) + b"\n")

    async def drain(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(ConnectionError):
            await self.process.stdin.drain()

    def forget(self, key: str) -> None:
        """End the process with its last connection."""
        if self.connections.pop(key, None) is not None and not self.connections:
            self.is_leaving = True
            assert self.process.stdin is not None
            self.process.stdin.close()

    def kill(self) -> None:
        """Kill it with everything that its servers started."""
        for pid in _session_of(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    async def end(self, limit_s: float) -> None:
        """Wait for its end, and kill it after the limit."""
        _, late = await asyncio.wait([self._reading], timeout=limit_s)
        if late:
            self.kill()
            await asyncio.wait(late)

    async def _read(self) -> None:
        assert self.process.stdout is not None
        trouble = "it ended"
        try:
            while line := await self.process.stdout.readline():
                answer = _decode(line)
                if (connection := self.connections.get(answer.connection)) is not None:
                    connection.hear(answer)
        except (ConnectionError, msgspec.MsgspecError, ValueError):
            trouble = "its answer is invalid or too long"
        finally:
            self.is_leaving = True
            self.kill()
            for key, connection in list(self.connections.items()):
                connection.hear(BridgeAnswer(key, trouble=trouble, is_over=True))
            self.connections.clear()
        await self.process.wait()


class BridgeConnection:
    """Connection to one server, through the bridge."""

    def __init__(self, key: str, running: _Running) -> None:
        self.key = key
        self._running = running
        self._heard: asyncio.Queue[BridgeAnswer] = asyncio.Queue()
        self._over = asyncio.Event()

    @property
    def is_alive(self) -> bool:
        return not self._over.is_set() and self._running.is_alive

    @property
    def bridge_pid(self) -> int:
        return self._running.process.pid

    def hear(self, answer: BridgeAnswer) -> None:
        """Take a line of the bridge's."""
        self._heard.put_nowait(answer)
        if answer.is_over:
            self._over.set()
            self._running.forget(self.key)

    async def start(self, setup: ServerSetup) -> BridgeAnswer:
        """Start the server; return what it has, or its question."""
        return await self.ask(StartRequest(self.key, setup))

    async def ask(self, request: BridgeRequest) -> BridgeAnswer:
        """Return the next answer; the end counts as one."""
        if not self.is_alive:
            return BridgeAnswer(self.key, trouble="it ended", is_over=True)
        self._running.tell(request)
        await self._running.drain()
        return await self._heard.get()

    def leave(self, limit_s: float) -> None:
        """Let the server end by itself, or end it after the limit."""
        if self.is_alive:
            self._running.tell(EndRequest(self.key))
            asyncio.get_running_loop().call_later(limit_s, self.kill)

    def kill(self) -> None:
        """End the server at once; a bridge that does not do it is killed."""
        if self.is_alive:
            self._running.tell(EndRequest(self.key, is_now=True))
            asyncio.get_running_loop().call_later(END_NOW_S, self._make_sure)

    async def end(self, limit_s: float) -> None:
        """Wait for the end of the server after it was told to end."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._over.wait()
        self._make_sure()

    def _make_sure(self) -> None:
        if self.is_alive:
            self._running.kill()


async def _launched(folder: Path) -> _Running:
    """Start the process; it gets its tasks on its input, where no process list shows them."""
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    return _Running(
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-m", "agent.tools.mcp.bridge"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=child_environment(folder),
            # Not the workspace: programs load what lies in the folder where they are started
            cwd=folder,
            limit=MAX_LINE_BYTES,
            start_new_session=True,
        )
    )


def _session_of(leader: int) -> list[int]:
    """Return the processes of a session; every server's program has a group of its own in it."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = status.read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader:
                found.append(int(status.parent.name))
    return found
