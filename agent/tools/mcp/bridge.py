"""The bridge: one process between the agent and all MCP servers, with the official SDK in it.

It answers each line on its standard input with one line, and ends with the input, together with
everything it started.
"""

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path

import msgspec

from agent.tools.mcp.connection import ServerConnection
from agent.tools.mcp.lines import (
    MAX_LINE_BYTES,
    BridgeAnswer,
    BridgeRequest,
    EndRequest,
    StartRequest,
)
from agent.tools.mcp.transport import limit_memory

# A server that was told to end has two seconds, as the protocol wants it
_LAST_S = 3.0
# Of at most 1000
_KILLED_FIRST = "800"
# See prctl(2)
_PR_SET_CHILD_SUBREAPER = 36

_decode = msgspec.json.Decoder(BridgeRequest).decode


class Bridge:
    """The connections to all servers that are in use."""

    def __init__(self) -> None:
        self._connections: dict[str, tuple[ServerConnection, asyncio.Task[None]]] = {}

    async def run(self) -> None:
        """Serve until the agent closes our input."""
        reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        # Read all the time: the end of our input ends every call, too
        while line := await reader.readline():
            self._take(_decode(line))
        # Whatever holds us up from now on
        loop.call_later(_LAST_S, self.end)
        signal.signal(signal.SIGALRM, lambda *_: self.end())
        signal.alarm(int(2 * _LAST_S))
        tasks = [task for _, task in self._connections.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def end(self) -> None:
        """End this process, with everything the servers started."""
        for connection, _ in self._connections.values():
            connection.kill()
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)

    def _take(self, request: BridgeRequest) -> None:
        key = request.connection
        if isinstance(request, StartRequest):
            connection = ServerConnection(key, request.setup, _say)
            task = asyncio.create_task(self._serve(key, connection))
            self._connections[key] = connection, task
            return
        found = self._connections.get(key)
        if found is None:
            # It has ended by itself, which was said
            return
        connection, task = found
        if isinstance(request, EndRequest):
            if request.is_now:
                connection.kill()
            task.cancel()
        else:
            connection.take(request)

    async def _serve(self, key: str, connection: ServerConnection) -> None:
        try:
            await connection.serve()
        finally:
            del self._connections[key]
            _say(BridgeAnswer(key, trouble="it ended", is_over=True))


def _say(answer: BridgeAnswer) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()


def adopt_orphans() -> None:
    """Keep the processes that a server leaves behind as children of this one."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


if __name__ == "__main__":
    # When memory is short, this goes before the agent, and its servers with it
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_KILLED_FIRST)
    adopt_orphans()
    limit_memory()
    bridge = Bridge()
    with contextlib.suppress(msgspec.DecodeError):
        asyncio.run(bridge.run())
    bridge.end()
