"""The agent's chat as a process on a pseudo-terminal: what a person types and sees."""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from tests.fakes.chat_process import chat_environ

# A start loads the agent and greets the board; a busy machine may need longer
PATIENCE_S = 30.0
_READ_BYTES = 4096
PROMPT = "> "


class TerminalChat:
    """`barnacle chat` with its own state folder; `screen` is all that was ever on it."""

    def __init__(self, folder: Path, config: str) -> None:
        # A terminal that moves no cursor: what is on the screen is what was written
        self._environ = {**chat_environ(folder, config), "TERM": "dumb"}
        self._process: subprocess.Popen[bytes] | None = None
        self.screen = ""
        self._seen = 0

    def __enter__(self) -> Self:
        self._near, far = os.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "agent.cli.main", "chat"],
            stdin=far,
            stdout=far,
            stderr=far,
            env=self._environ,
            start_new_session=True,
        )
        os.close(far)
        self.sees("/help lists the commands.")
        self.sees(PROMPT)
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        os.close(self._near)

    def type(self, text: str) -> None:
        """A line from the keyboard."""
        os.write(self._near, f"{text}\n".encode())

    def say(self, text: str) -> str:
        """The answer to a line that begins no question."""
        self.type(text)
        self.sees(text)
        return self.sees(f"\n{PROMPT}").strip()

    def sees(self, text: str) -> str:
        """Wait until that comes after what was seen before; what came up to its end."""
        until_s = time.monotonic() + PATIENCE_S
        while (at := self.screen.find(text, self._seen)) < 0:
            assert time.monotonic() < until_s, f"no {text!r} in {self.screen[self._seen :]!r}"
            self._read()
        begun, self._seen = self._seen, at + len(text)
        return self.screen[begun : self._seen].removesuffix(PROMPT)

    def has_shown(self, text: str) -> bool:
        """Whether that was ever on the screen, also while it began."""
        self._read()
        return text in self.screen

    def leave(self) -> int:
        """Ctrl-D; the exit status."""
        assert self._process is not None
        os.write(self._near, b"\x04")
        return self._process.wait(PATIENCE_S)

    def interrupt(self) -> None:
        """Ctrl-C."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)

    def ended(self) -> int:
        """The exit status of a chat that ends by itself."""
        assert self._process is not None
        return self._process.wait(PATIENCE_S)

    def kill(self) -> None:
        """SIGKILL: nothing is tidied up."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        if not select.select([self._near], [], [], 0.1)[0]:
            return
        try:
            data = os.read(self._near, _READ_BYTES)
        except OSError as err:
            # The other end went with the process
            raise AssertionError(f"the chat has ended: {self.screen}") from err
        self.screen += data.decode(errors="replace").replace("\r\n", "\n")
