"""The simulated board of one chat: started before it, stopped after it, however it ends.

It has its own session: Ctrl-C in the chat is the chat's, and the board outlives a killed agent
long enough to make its outputs safe by itself.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from scripts.lib.progress import StepFailed, end, tail_of

# A cold interpreter on a slow SD card; normally 0.2 s
_READY_TIMEOUT_S = 20.0
_POLL_S = 0.02
# A board that lost its agent makes its outputs safe within its lease, 10 s at most
_GONE_TIMEOUT_S = 12.0


class Simulator:
    """`scripts/board-sim` behind `link`; pin changes are recorded in `record`."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._program = root / "scripts" / "board-sim"
        self.link = folder / "board"
        self.record = folder / "board-record.jsonl"
        self._pid_file = folder / "board.pid"
        self._log = folder / "board.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, environment: Mapping[str, str]) -> None:
        """Start it in place of one that an earlier chat left behind; returns when it is ready."""
        self.end_left_over()
        self.link.unlink(missing_ok=True)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [self._program, "--link", self.link, "--record", self.record],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        self._pid_file.write_text(f"{self._process.pid}\n")
        self._wait_until_ready(self._process)

    def stop(self) -> None:
        if self._process is not None:
            end(self._process, _GONE_TIMEOUT_S)
            # Whatever it started is in its session
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._pid_file.unlink(missing_ok=True)

    def end_left_over(self) -> None:
        try:
            pid = int(self._pid_file.read_text())
        except (FileNotFoundError, ValueError):
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._is_ours(pid):
                os.killpg(pid, signal.SIGTERM)
                self._wait_until_gone(pid)
        self._pid_file.unlink(missing_ok=True)

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        until_s = time.monotonic() + _READY_TIMEOUT_S
        # The link appears when the board listens; `exists` follows it
        while not self.link.exists():
            if process.poll() is not None or time.monotonic() > until_s:
                self.stop()
                raise StepFailed(f"{tail_of(self._log)}\nThe simulated board did not start.")
            time.sleep(_POLL_S)

    def _wait_until_gone(self, pid: int) -> None:
        until_s = time.monotonic() + _GONE_TIMEOUT_S
        while self._is_ours(pid):
            if time.monotonic() > until_s:
                os.killpg(pid, signal.SIGKILL)
                return
            time.sleep(_POLL_S)

    def _is_ours(self, pid: int) -> bool:
        # Numbers of processes are used again: only a simulator of this checkout is ended
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False
        return os.fsencode(self.link) in command.split(b"\0")
