"""Connection of the bridge to a server: the SDK's streams, with added limits.

A program's lines and an address's answers end at a megabyte, before they are kept. A program gets
the environment that was given and nothing of the bridge's.
"""

import asyncio
import contextlib
import ipaddress
import json
import os
import resource
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from msgspec import Struct

from agent.security.web_addresses import is_public
from agent.text.printable import printable_line
from agent.tools.mcp.lines import (
    MAX_LINE_BYTES,
    MAX_TROUBLE_CHARS,
    SESSION_ENDED,
    ServerSetup,
)

# A unit starts within it on the smallest Pi under load
START_TIMEOUT_S = 20.0
_MAX_ANSWER_BYTES = 4096


class ServiceProcess(Struct):
    """The running program, shaped like a child process."""

    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader
    connection: socket.socket

    async def wait(self) -> None:
        """Wait until the service reports the end; cancelling ends the program."""
        loop = asyncio.get_running_loop()
        try:
            with contextlib.suppress(OSError):
                await loop.sock_recv(self.connection, _MAX_ANSWER_BYTES)
        finally:
            self.connection.close()


async def start_service_process(setup: ServerSetup) -> ServiceProcess:
    """Start the program through the service.

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
    return ServiceProcess(
        await _writer(to_program), await _reader(out), await _reader(err), connection
    )


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


if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams

# The SDK takes 57 MB of this kind; a server that makes it take three times as much ends it
MAX_BRIDGE_BYTES = 160 * 1024 * 1024
# Of a program that was not asked again: progress and notes of a long call take a tenth of it
MAX_HEARD_BYTES = 16 * 1024 * 1024
# A program that was told to end has this long, as the protocol wants it
END_TIMEOUT_S = 2.0
# What a program complained about arrives beside its end, not before it
LAST_WORDS_S = 0.5
# Until a server of the web begins to answer; a call has its own limit around this
HTTP_TIMEOUT_S = 60.0
_STREAM = "text/event-stream"
_SESSION = "mcp-session-id"
# A call, and the look before it
_OF_CALL = (b'"tools/call"', b'"tools/list"')
_BAD_REQUEST, _NOT_FOUND = 400, 404


class TransportFault(Struct):
    """Reason why the connection is unusable; empty while it works.

    Args:
        last_words: the last line of its complaints.
        heard_bytes: since it was last told something.
        group: of the processes that its program leads; 0 where the bridge has started none.
    """

    said: str = ""
    last_words: str = ""
    heard_bytes: int = 0
    group: int = 0

    def kill(self) -> None:
        """Kill the program with what it has started; its number is not reused before."""
        if self.group:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.group, signal.SIGKILL)


def limit_memory() -> None:
    """Limit the memory of this process; what it starts begins without the limit."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_BRIDGE_BYTES, most))


@contextlib.contextmanager
def _without_limit() -> Iterator[None]:
    kept, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (kept, most))


@contextlib.asynccontextmanager
async def program(setup: ServerSetup, fault: TransportFault) -> AsyncIterator["TransportStreams"]:
    """Connect to a local program in a process group of its own."""
    process = await _started(setup)
    if isinstance(process, asyncio.subprocess.Process):
        fault.group = process.pid
    to_session, from_program = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    from_session, to_program = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, process, to_session, fault)
        tasks.start_soon(_write, process, to_program, fault)
        try:
            yield from_program, from_session
        finally:
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await _ended(process)
                fault.kill()
                for stream in (to_session, from_program, from_session, to_program):
                    stream.close()


async def _started(setup: ServerSetup) -> "asyncio.subprocess.Process | ServiceProcess":
    if setup.socket:
        return await start_service_process(setup)
    with _without_limit():
        return await asyncio.create_subprocess_exec(
            *setup.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=setup.environment,
            cwd=setup.folder,
            limit=MAX_LINE_BYTES,
            process_group=0,
        )


async def _read(
    process: "asyncio.subprocess.Process | ServiceProcess",
    session: "MemoryObjectSendStream[SessionMessage | Exception]",
    fault: TransportFault,
) -> None:
    assert process.stdout is not None
    async with session:
        complaints = asyncio.create_task(_overhear(process, fault))
        try:
            async for line in process.stdout:
                fault.heard_bytes += len(line)
                if fault.heard_bytes > MAX_HEARD_BYTES:
                    fault.said = f"it sent more than {MAX_HEARD_BYTES} bytes at once"
                    return
                # What is no message is for nobody
                with contextlib.suppress(ValueError):
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    await session.send(SessionMessage(message))
            await asyncio.wait({complaints}, timeout=LAST_WORDS_S)
            fault.said = (
                f"it ended, saying {fault.last_words!r}" if fault.last_words else "it ended"
            )
        except ValueError:
            fault.said = f"it sent a line of more than {MAX_LINE_BYTES} bytes"
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return
        finally:
            complaints.cancel()


async def _overhear(
    process: "asyncio.subprocess.Process | ServiceProcess", fault: TransportFault
) -> None:
    """Keep the last line of the program's complaints: it often explains the end."""
    assert process.stderr is not None
    while piece := await process.stderr.read(MAX_LINE_BYTES):
        lines = piece[-4 * MAX_TROUBLE_CHARS :].decode(errors="replace").strip().splitlines()
        if lines:
            fault.last_words = printable_line(lines[-1], MAX_TROUBLE_CHARS)


async def _write(
    process: "asyncio.subprocess.Process | ServiceProcess",
    session: "MemoryObjectReceiveStream[SessionMessage]",
    fault: TransportFault,
) -> None:
    assert process.stdin is not None
    async with session:
        async for one in session:
            fault.heard_bytes = 0
            text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(text.encode() + b"\n")
            # Gone: whoever reads from it notices
            with contextlib.suppress(ConnectionError):
                await process.stdin.drain()


async def _ended(process: "asyncio.subprocess.Process | ServiceProcess") -> None:
    assert process.stdin is not None
    process.stdin.close()
    # Not waited for any longer: what it has started may hold its output, and its group is killed
    with anyio.move_on_after(END_TIMEOUT_S):
        await process.wait()


@contextlib.asynccontextmanager
async def address(
    setup: ServerSetup, auth: httpx2.Auth | None, fault: TransportFault
) -> AsyncIterator["TransportStreams"]:
    """Connect to a web server; do not follow a redirect to another place."""
    transport = _CappedTransport(setup.url, fault)
    async with (
        httpx2.AsyncClient(
            # What is packed may unpack to anything
            headers={**setup.headers, "accept-encoding": "identity"},
            timeout=HTTP_TIMEOUT_S,
            transport=transport,
            trust_env=False,
            auth=auth,
        ) as client,
        streamable_http_client(
            setup.url, http_client=client, max_sse_event_size=MAX_LINE_BYTES
        ) as streams,
    ):
        yield streams


class _CappedTransport(httpx2.AsyncHTTPTransport):
    """Caps each answer; in an event stream it caps each event.

    A sign-in leads to places that the server names: elsewhere than at its own host only public ones
    are asked, and only over TLS.
    """

    def __init__(self, url: str, fault: TransportFault) -> None:
        super().__init__()
        self._host = httpx2.URL(url).host
        self._fault = fault

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.host != self._host:
            await self._refuse_unless_public(request.url)
        response = await super().handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise httpx2.DecodingError("the answer is compressed, which was not requested")
        is_stream = response.headers.get("content-type", "").startswith(_STREAM)
        if not is_stream and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _CappedStream(response.stream)
        if await _is_without_session(request, response):
            self._fault.said = SESSION_ENDED
        return response

    async def _refuse_unless_public(self, url: httpx2.URL) -> None:
        if url.scheme != "https":
            raise httpx2.UnsupportedProtocol(f"{url.host} is not asked without TLS")
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(url.host, url.port or 443, type=socket.SOCK_STREAM)
        if not all(is_public(ipaddress.ip_address(one[4][0])) for one in found):
            raise httpx2.ConnectError(f"{url.host} is not a public address")


async def _is_without_session(request: httpx2.Request, response: httpx2.Response) -> bool:
    """Return true if a call was not taken because the server knows its session no more.

    A server that was started again says so by 404; many that follow the SDK's example by 400, in
    words.
    """
    if response.status_code not in {_NOT_FOUND, _BAD_REQUEST} or _SESSION not in request.headers:
        return False
    asked = await request.aread()
    if not any(method in asked for method in _OF_CALL):
        return False
    return response.status_code == _NOT_FOUND or b"session" in (await response.aread()).lower()


class _CappedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        room = MAX_LINE_BYTES
        async for piece in self._inner:
            room -= len(piece)
            if room < 0:
                raise httpx2.ReadError(f"the answer has more than {MAX_LINE_BYTES} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
