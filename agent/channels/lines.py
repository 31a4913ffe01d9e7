"""Lines from standard input, read without blocking the event loop.

A thread of its own waits for each line, because a terminal cannot be waited for otherwise with
line editing; it ends with the process.
"""

import asyncio
import contextlib
import os
import queue
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

R = TypeVar("R")

# Longest line that is kept; what follows it on the same line is dropped
MAX_LINE_BYTES = 256 * 1024
_READ_BYTES = 64 * 1024


class LineSource(Protocol):
    """Source of lines."""

    async def read(self, prompt: str) -> str | None:
        """Return the next line without its end; None at the end of the input."""

    def close(self) -> None:
        """Restore the terminal."""


class PipeLines:
    """Lines from a pipe or a file; the prompt is not shown."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._rest = bytearray()
        self._worker: _Worker[bytes | None] = _Worker()

    async def read(self, prompt: str) -> str | None:
        line = await self._worker.run(self._read_line)
        return None if line is None else line.decode(errors="replace")

    def close(self) -> None:
        """Nothing to restore."""

    def _read_line(self) -> bytes | None:
        kept = bytearray()
        while True:
            head, end, tail = self._rest.partition(b"\n")
            kept += head[: MAX_LINE_BYTES - len(kept)]
            self._rest = tail
            if end:
                return bytes(kept).removesuffix(b"\r")
            # Unbuffered on purpose: a buffered reader's lock would outlive the event loop
            more = os.read(self._descriptor, _READ_BYTES)
            if not more:
                return bytes(kept) or None
            self._rest += more


class TerminalLines:
    """Lines typed in a terminal, with editing and history."""

    def __init__(self, history_file: Path | None, history_lines: int) -> None:
        self._worker: _Worker[str | None] = _Worker()
        self._history_file = history_file
        self._history_lines = history_lines
        self._restore = _terminal_restorer()
        self._load_history()

    async def read(self, prompt: str) -> str | None:
        return await self._worker.run(lambda: _input(prompt))

    def close(self) -> None:
        self._save_history()
        self._restore()

    def _load_history(self) -> None:
        import readline  # noqa: PLC0415 - only where somebody types

        readline.set_auto_history(True)
        if self._history_file is not None and self._history_lines:
            with contextlib.suppress(OSError):
                readline.read_history_file(self._history_file)

    def _save_history(self) -> None:
        import readline  # noqa: PLC0415 - as above

        if self._history_file is None or not self._history_lines:
            return
        with contextlib.suppress(OSError):
            readline.set_history_length(self._history_lines)
            from agent.storage.privacy import create_private  # noqa: PLC0415 - as above

            create_private(self._history_file)
            readline.write_history_file(self._history_file)
            self._history_file.chmod(0o600)


class _Failure(Struct, frozen=True):
    error: Exception


class _Worker(Generic[R]):
    """One daemon thread that waits for one line at a time.

    A line that nobody waits for any more, because its reader was cancelled, is the next one's.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._under_way: asyncio.Future[R] | None = None
        self._started = False

    async def run(self, call: Callable[[], R]) -> R:
        """Run `call` in a thread and return its result."""
        if self._under_way is None:
            self._under_way = self._begin(call)
        waiting = self._under_way
        try:
            return await asyncio.shield(waiting)
        finally:
            if waiting.done():
                self._under_way = None

    def _begin(self, call: Callable[[], R]) -> "asyncio.Future[R]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()

        def job() -> None:
            outcome = _outcome_of(call)
            # The loop may have ended meanwhile; then nobody waits
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_settle, future, outcome)

        if not self._started:
            self._started = True
            threading.Thread(target=self._work, name="lines", daemon=True).start()
        self._jobs.put(job)
        return future

    def _work(self) -> None:
        while True:
            self._jobs.get()()


def _outcome_of(call: Callable[[], R]) -> "R | _Failure":
    try:
        return call()
    except (OSError, UnicodeError) as err:
        return _Failure(err)


def _settle(future: "asyncio.Future[R]", outcome: "R | _Failure") -> None:
    if future.done():
        return
    if isinstance(outcome, _Failure):
        future.set_exception(outcome.error)
    else:
        future.set_result(outcome)


def _input(prompt: str) -> str | None:
    try:
        return input(prompt)
    except EOFError:
        return None


def _terminal_restorer() -> Callable[[], None]:
    import termios  # noqa: PLC0415 - only where somebody types

    try:
        before = termios.tcgetattr(sys.stdin)
    except termios.error:
        return lambda: None
    return lambda: termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
