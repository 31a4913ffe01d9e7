"""openWakeWord's own server for Wyoming, with the models that its package brings."""

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from tests.oracles import clients
from tests.waits import PATIENCE_S, wait_until

INSTALLED = clients.INSTALLED.with_name("wake-word")
_SERVER = Path(clients.__file__).parent / "sdk" / "wyoming_server.py"


def no_wake_service() -> str:
    """Why it cannot run here; empty where it can."""
    if (INSTALLED / "made-from").exists():
        return ""
    return f"openWakeWord is not in {INSTALLED}: run scripts/test"


@contextlib.asynccontextmanager
async def wake_service() -> AsyncIterator[str]:
    """Yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = f"tcp://127.0.0.1:{port}"
    program = ("-m", "wyoming_openwakeword", "--uri", server)
    async with _started(INSTALLED, *program):
        await wait_until(lambda: _answers(port), PATIENCE_S)
        yield server


@contextlib.asynccontextmanager
async def library_server() -> AsyncIterator[str]:
    """Yield the address of a server made with the library that those of the house are made with."""
    async with _started(clients.INSTALLED, str(_SERVER)) as server:
        assert server.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            port = int(await server.stdout.readline())
        yield f"tcp://127.0.0.1:{port}"


@contextlib.asynccontextmanager
async def _started(installed: Path, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    # -S: what is installed for the agent is not theirs
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-S", "-W", "ignore", *words),
        env={"PYTHONPATH": str(installed), "PATH": os.defpath},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield server
    finally:
        server.kill()
        await server.wait()


async def _answers(port: int) -> bool:
    with contextlib.suppress(OSError):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        return True
    return False
