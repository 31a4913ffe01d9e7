"""A program that a service of systemd runs for the bridge, with the streams of a child process.

The service's runner takes the command and three descriptors from a connection to its socket; the
program ends with the connection.
"""

import asyncio
import contextlib
import json
import os
import socket
from dataclasses import dataclass

from agent.tools.mcp.lines import MAX_LINE_BYTES, Setup

# A unit starts within it on the smallest Pi under load
START_TIMEOUT_S = 20.0
_MAX_ANSWER_BYTES = 4096


@dataclass(slots=True)
class Apart:
    """The program, as a child process looks to whoever speaks with it."""

    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader
    connection: socket.socket

    async def wait(self) -> None:
        """Until the service says that it has ended; going away ends it."""
        loop = asyncio.get_running_loop()
        try:
            with contextlib.suppress(OSError):
                await loop.sock_recv(self.connection, _MAX_ANSWER_BYTES)
        finally:
            self.connection.close()


async def apart(setup: Setup) -> Apart:
    """Have the service start it.

    Raises:
        OSError: it cannot be reached.
    """
    loop = asyncio.get_running_loop()
    connection = socket.socket(socket.AF_UNIX)
    connection.setblocking(False)  # noqa: FBT003 - the name of the parameter is its own
    asked = {"argv": setup.command, "environment": setup.environment, "folder": setup.folder}
    given, to_program = os.pipe2(os.O_CLOEXEC)
    out, out_end = os.pipe2(os.O_CLOEXEC)
    err, err_end = os.pipe2(os.O_CLOEXEC)
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            await loop.sock_connect(connection, setup.socket)
        socket.send_fds(connection, [json.dumps(asked).encode() + b"\n"], [given, out_end, err_end])
    except OSError:
        connection.close()
        for handle in (to_program, out, err):
            os.close(handle)
        raise
    finally:
        # Only the program holds them now: its end is theirs
        for handle in (given, out_end, err_end):
            os.close(handle)
    return Apart(await _writer(to_program), await _reader(out), await _reader(err), connection)


async def _reader(handle: int) -> asyncio.StreamReader:
    loop = asyncio.get_running_loop()
    stream = asyncio.StreamReader(limit=MAX_LINE_BYTES)
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(handle, "rb", buffering=0)
    )
    return stream


async def _writer(handle: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(handle, "wb", buffering=0)
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)
