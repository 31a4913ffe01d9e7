"""`barnacle setup` as a process on a pseudo-terminal."""

import contextlib
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from tests.structure.sources import ROOT

# An interpreter starts and asks a service, on a busy machine
PATIENCE_S = 30.0
_READ_BYTES = 4096


class SetupTerminal:
    """Its home is a folder; `screen` is all that was ever on it."""

    def __init__(self, home: Path) -> None:
        self.config = home / ".config/barnacle/barnacle.toml"
        self._environ = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "TERM": "dumb",
        }
        self.screen = ""
        self._seen = 0

    def __enter__(self) -> Self:
        self._near, far = os.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "agent.cli.main", "setup", "--config", str(self.config)],
            stdin=far,
            stdout=far,
            stderr=far,
            cwd=ROOT,
            env=self._environ,
            start_new_session=True,
        )
        os.close(far)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._near)

    def type(self, text: str) -> None:
        os.write(self._near, f"{text}\n".encode())

    def leave(self) -> None:
        """Ctrl-D."""
        os.write(self._near, b"\x04")

    def sees(self, text: str) -> None:
        """Wait until that comes after what was seen before."""
        until_s = time.monotonic() + PATIENCE_S
        while (at := self.screen.find(text, self._seen)) < 0:
            assert time.monotonic() < until_s, f"no {text!r} in {self.screen[self._seen :]!r}"
            self._read()
        self._seen = at + len(text)

    def ended(self) -> int:
        """The exit status; what was still to be seen is on the screen."""
        status = self._process.wait(PATIENCE_S)
        with contextlib.suppress(OSError):
            while True:
                self._read()
                if not select.select([self._near], [], [], 0)[0]:
                    break
        return status

    def _read(self) -> None:
        if select.select([self._near], [], [], 0.1)[0]:
            data = os.read(self._near, _READ_BYTES)
            self.screen += data.decode(errors="replace").replace("\r\n", "\n")
