"""The `age` tool of Debian: the counterpart of our encryption."""

import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

AGE = shutil.which("age")
needs_age = pytest.mark.skipif(AGE is None, reason="the tool age is not installed (package age)")


def decrypt_with_key(path: Path, key: Path) -> bytes:
    """Return the plain content of a file that was encrypted to a key."""
    assert AGE is not None
    done = subprocess.run([AGE, "-d", "-i", key, path], capture_output=True, check=True)
    return done.stdout


def encrypt_to_key(content: bytes, public: str) -> bytes:
    """Return the content, encrypted by the tool."""
    assert AGE is not None
    done = subprocess.run([AGE, "-r", public], input=content, capture_output=True, check=True)
    return done.stdout


def with_passphrase(words: list[str], passphrase: str, times: int) -> int:
    """Run the tool, which reads a passphrase from its terminal alone; return its exit status."""
    assert AGE is not None
    child, terminal = pty.fork()
    if child == 0:
        os.execv(AGE, [AGE, *words])
    said = b""
    try:
        for _ in range(times):
            while not said.rstrip().endswith(b":"):
                said += os.read(terminal, 1024)
            said = b""
            os.write(terminal, f"{passphrase}\n".encode())
        while os.read(terminal, 1024):
            pass
    except OSError:
        # The child has closed its side of the terminal: it has ended
        pass
    finally:
        os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
