"""MCP servers for tests: where their programs are, and how they are configured."""

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from agent.tools.mcp.offer import Offer
from agent.tools.mcp.server import McpServer
from agent.tools.mcp.settings import McpSettings

_FAKES = Path(__file__).parent
_START_LIMIT_S = 15.0


def garden(kind: str = "plain", **more: object) -> McpSettings:
    """A server of the SDK with this fault, as a program."""
    command = (sys.executable, str(_FAKES / "mcp_server.py"), kind)
    return McpSettings(command=command, **more)  # type: ignore[arg-type]  # what a test adds


def asking() -> McpSettings:
    return McpSettings(command=(sys.executable, str(_FAKES / "mcp_asking_server.py")))


@contextlib.contextmanager
def served(kind: str = "plain") -> Iterator[str]:
    """The same on loopback, over streamable HTTP; the address of it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(_FAKES / "mcp_server.py"), kind, str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            _await_listening(port)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.kill()


def _await_listening(port: int) -> None:
    deadline_s = time.monotonic() + _START_LIMIT_S
    while time.monotonic() < deadline_s:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return
        time.sleep(0.05)
    raise TimeoutError(f"no server listens on port {port}")


async def offer_of(server: McpServer, tool: str) -> Offer:
    return next(one for one in await server.offers() if one.tool == tool)
