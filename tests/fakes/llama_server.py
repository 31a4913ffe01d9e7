"""The real server of llama.cpp with a model of random weights: others wrote it, nobody pretends."""

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.fakes.tiny_gguf import write_tiny_model
from tests.waits import wait_until_sync

_ROOT = Path(__file__).resolve().parents[2]
_UNPACKED = _ROOT / ".barnacle" / "llama" / "llama-server"
_LISTENING = "server is listening on", "listening on http"


def program() -> str | None:
    """Return the server: the one that was named, installed or unpacked, in this order."""
    named = os.environ.get("BARNACLE_LLAMA_SERVER") or shutil.which("llama-server")
    return named or (str(_UNPACKED) if _UNPACKED.exists() else None)


def absence() -> str:
    """Return why it cannot be started here; empty where it can."""
    if program() is None:
        return (
            f"there is no llama-server on the PATH, in $BARNACLE_LLAMA_SERVER or at {_UNPACKED}: "
            "run scripts/test, which unpacks Debian's package llama.cpp-tools"
        )
    return ""


@contextlib.contextmanager
def running(folder: Path, context_tokens: int = 4096, *more: str) -> Iterator[str]:
    """Yield the server's address with `/v1`."""
    model, log = folder / "tiny.gguf", folder / "llama-server.log"
    write_tiny_model(model)
    found, port = program(), _free_port()
    assert found is not None
    command = [found, "-m", str(model), "--host", "127.0.0.1", "--port", str(port)]
    command += ["-c", str(context_tokens), "-t", "1", "-np", "1", "--offline", "--alias", "tiny"]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, *more], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        )
    try:
        _wait_until_listening(process, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_listening(process: "subprocess.Popen[bytes]", log: Path) -> None:
    def has_begun() -> bool:
        said = log.read_text(errors="replace")
        assert process.poll() is None, f"llama-server did not start: {said[-2000:]}"
        return any(words in said for words in _LISTENING)

    wait_until_sync(has_begun)
