"""Running the steps of a command: one line each, the time while it lasts, the log when it fails.

Everything goes to stderr: stdout belongs to what the command was started for.
"""

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

# Often enough that the seconds look alive
_TERMINAL_TICK_S = 0.2
# In a log file a sign of life is enough
_PLAIN_TICK_S = 20.0
# A program that was told to end is given this long to tidy up
_TIDY_UP_S = 5.0
_TAIL_LINES = 15


class StepFailed(Exception):
    """A step did not succeed; the text is for the person who started the command."""


def say(text: str) -> None:
    print(f"barnacle: {text}", file=sys.stderr, flush=True)


def tail_of(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()[-_TAIL_LINES:]
    return "\n".join(f"    {line}" for line in lines)


class Progress:
    """Runs programs with their output in a log file each.

    Args:
        logs: the folder for the logs.
        kept_open: descriptors that the programs inherit.
    """

    def __init__(self, logs: Path, kept_open: Sequence[int] = ()) -> None:
        self._logs = logs
        self._kept_open = tuple(kept_open)
        self._terminal = sys.stderr.isatty()

    def run(
        self,
        title: str,
        command: Sequence[str | Path],
        *,
        environment: Mapping[str, str],
        remedy: str,
    ) -> None:
        """Run `command` to its end; raises StepFailed with the log's tail and the remedy."""
        self._logs.mkdir(parents=True, exist_ok=True)
        log = self._logs / f"{title.replace(' ', '-')}.log"
        started_s = time.monotonic()
        if not self._terminal:
            say(f"{title} ...")
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                pass_fds=self._kept_open,
            )
            try:
                status = self._watch(process, title, started_s)
            finally:
                end(process)
        if status != 0:
            self._finish(f"{title}: failed after {_elapsed(started_s)}")
            raise StepFailed(
                f"{tail_of(log)}\n  (exit status {status}; all of it: {log})\n{remedy}"
            )
        self._finish(f"{title}: done, {_elapsed(started_s)}")

    def _watch(self, process: subprocess.Popen[bytes], title: str, started_s: float) -> int:
        while True:
            try:
                return process.wait(_TERMINAL_TICK_S if self._terminal else _PLAIN_TICK_S)
            except subprocess.TimeoutExpired:
                line = f"{title} ... {_elapsed(started_s)}"
                if self._terminal:
                    print(f"\r\033[Kbarnacle: {line}", end="", file=sys.stderr, flush=True)
                else:
                    say(line)

    def _finish(self, line: str) -> None:
        if self._terminal:
            print("\r\033[K", end="", file=sys.stderr)
        say(line)


def end(process: subprocess.Popen[bytes], tidy_up_s: float = _TIDY_UP_S) -> None:
    """Make sure that a program is gone: a request first, force when it does not listen."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(tidy_up_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _elapsed(started_s: float) -> str:
    return f"{time.monotonic() - started_s:.0f} s"
