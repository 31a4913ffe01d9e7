"""The agent's chat as a process, as a person would start it, over pipes."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

# A start loads the agent and greets the board; a busy machine may need longer
END_LIMIT_S = 15.0


def chat_environ(folder: Path, config: str) -> dict[str, str]:
    """The surroundings of a chat that has its configuration and its state in `folder`."""
    (folder / "barnacle.toml").write_text(config)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "BARNACLE_CONFIG": str(folder / "barnacle.toml"),
        "BARNACLE_STATE_DIR": str(folder / "state"),
    }


class ChatProcess:
    """`barnacle chat --plain` with its own state folder; one line in, one line out."""

    def __init__(self, folder: Path, config: str, **environ: str) -> None:
        self.state = folder / "state"
        self._environ = {**chat_environ(folder, config), **environ}
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "agent.cli.main", "chat", "--plain"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._environ,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def say(self, text: str) -> str:
        """The answer to one line."""
        self.tell(text)
        return self.hear()

    def tell(self, text: str) -> None:
        """One line, without waiting for its answer."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n")
        self._process.stdin.flush()

    def hear(self) -> str:
        """The next line, whoever it answers."""
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n")

    def leave(self) -> tuple[int, str]:
        """End the input; the exit status and all of standard error."""
        assert self._process is not None
        _, errors = self._process.communicate(timeout=END_LIMIT_S)
        return self._process.returncode, errors

    def kill(self) -> None:
        """SIGKILL: nothing is tidied up."""
        assert self._process is not None
        self._process.kill()
        self._process.communicate()

    def log(self) -> str:
        return (self.state / "chat.log").read_text()


def order_soon(chat: ChatProcess, after_s: int, order: str) -> str:
    """Order a job for a few seconds from now, and again for later if that moment was over."""
    while True:
        moment = datetime.now(UTC) + timedelta(seconds=after_s)
        told = chat.say(f"at {moment.isoformat(timespec='seconds')} {order}")
        if "is over" not in told:
            return told
        after_s *= 2
