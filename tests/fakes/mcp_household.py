"""MCP servers for tests: where their programs are, and how they are configured."""

import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from agent.tools.mcp.offer import ToolOffer
from agent.tools.mcp.server import McpServer
from agent.tools.mcp.settings import McpSettings
from tests.waits import wait_until_sync

_FAKES = Path(__file__).parent


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
    def is_listening() -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return True
        return False

    wait_until_sync(is_listening)


async def offer_of(server: McpServer, tool: str) -> ToolOffer:
    return next(one for one in await server.offers() if one.tool == tool)
