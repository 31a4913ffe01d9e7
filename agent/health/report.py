"""Report of the running agent: told in a chat, and kept in `status.json` for others.

The file is written only when something has changed, so that an idle agent writes nothing.
"""

import logging
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from agent import __version__
from agent.errors import StorageFull
from agent.health.status import (
    AgentStatus,
    BoardReport,
    ChannelReport,
    own_start_ticks,
    write_status,
)
from agent.link.base import Board, BoardState
from agent.security.estop import EmergencyStop
from agent.storage.files import is_read_only
from agent.system.clock import Clock, rest
from agent.text.printable import printable_line


class WritableState:
    """A folder's file system."""

    def __init__(self, folder: Path, clock: Clock, aside: Path | None = None) -> None:
        from agent.health import data_partition as kept_aside  # noqa: PLC0415 - no import needs it

        self._folder = folder
        # It says so once, and stays for as long as the machine runs
        self._aside = kept_aside.why_unused(aside or kept_aside.ASIDE)
        self._clock = clock
        self._since_s: float | None = None

    def sentence(self) -> str:
        """Return the sentence about it; usually empty."""
        if self._aside:
            return (
                f"the data partition is not in use ({self._aside}): I store nothing and only talk"
            )
        if not is_read_only(self._folder):
            self._since_s = None
            return ""
        if self._since_s is None:
            self._since_s = self._clock.wall_s()
        since = time.strftime("%Y-%m-%d %H:%M", time.localtime(self._since_s))
        return f"storage is read-only since {since}: I store nothing and act on nothing"


_log = logging.getLogger(__name__)

# How soon a change is in the file: quicker than a person asks twice
LOOK_S = 2.0
# By more than this the network sets a clock and does not correct it: each other time is a write
CLOCK_SET_S = 60.0
# The last error is a sentence; a longer one is cut
MAX_ERROR_CHARS = 300


class LastError(logging.Handler):
    """Keeps the newest record of a level that a person should know of, without secrets."""

    def __init__(self, redact: Callable[[str], str] = str) -> None:
        super().__init__(logging.WARNING)
        self._redact = redact
        self.text = ""
        self.at_s = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        self.text = printable_line(self._redact(record.getMessage()), MAX_ERROR_CHARS)
        self.at_s = record.created


class Subjects(Struct, frozen=True):
    """Subjects of the report."""

    provider: str
    boards: Sequence[Board]
    channels: Sequence[str]
    last_error: LastError
    stop: EmergencyStop
    # What is to be said of the memory; mostly nothing
    memory: Callable[[], str] = lambda: ""
    # What the model has cost today; nothing where none is asked
    spending: Callable[[], str] = lambda: ""
    # Why a channel hears nothing; nothing while all is well
    trouble: Callable[[str], str | None] = lambda _channel: None
    # What hurts the machine, in sentences; mostly nothing
    machine: Callable[[], Sequence[str]] = tuple
    # Pins of this machine that let the boards' outputs have power
    enable_gpios: Sequence[int] = ()


class Reporter:
    """Reports the state of the agent."""

    def __init__(self, path: Path, subjects: Subjects, clock: Clock) -> None:
        self._path = path
        self._subjects = subjects
        self._clock = clock
        self._begun_s, self._since_s = clock.monotonic_s(), clock.wall_s()
        self._writable = WritableState(path.parent, clock)
        self._is_kept = True

    def status(self) -> AgentStatus:
        boards = tuple(_reported(board) for board in self._subjects.boards)
        return AgentStatus(
            pid=os.getpid(),
            start_ticks=own_start_ticks(),
            since_s=self._since(),
            version=__version__,
            provider=self._subjects.provider,
            stopped=self._subjects.stop.reason,
            board=boards[0],
            boards=boards,
            channels=tuple(
                ChannelReport(name, self._subjects.trouble(name) or "")
                for name in self._subjects.channels
            ),
            enable_gpios=tuple(self._subjects.enable_gpios),
            memory=self._subjects.memory(),
            storage=self._writable.sentence(),
            machine=tuple(self._subjects.machine()),
            last_error=self._subjects.last_error.text,
            last_error_at_s=self._subjects.last_error.at_s,
        )

    def sentences(self) -> str:
        """Return the report as lines for a chat."""
        status = self.status()
        lines = [
            f"Barnacle {status.version}, {_span(self._clock.monotonic_s() - self._begun_s)}.",
            f"Model: {status.provider}.",
            *(self._about(board) for board in self._subjects.boards),
        ]
        if status.stopped:
            lines.insert(1, f"STOPPED: {self._subjects.stop.sentence}.")
        lines += [f"{one.name}: {one.trouble}." for one in status.channels if one.trouble]
        if spending := self._subjects.spending():
            lines.append(f"Spent today: {spending}.")
        if status.storage:
            lines.append(f"{status.storage[0].upper()}{status.storage[1:]}.")
        lines += [f"{one[0].upper()}{one[1:]}." for one in status.machine]
        if status.memory:
            lines.append(f"Memory: {status.memory}.")
        if status.last_error:
            at = time.strftime("%H:%M:%S", time.localtime(status.last_error_at_s))
            lines.append(f"Last error, at {at}: {status.last_error}")
        return "\n".join(lines)

    def _since(self) -> float:
        """Return when it began, by the clock as it is set now."""
        since_s = self._clock.wall_s() - (self._clock.monotonic_s() - self._begun_s)
        if abs(since_s - self._since_s) > CLOCK_SET_S:
            self._since_s = since_s
        return self._since_s

    def _about(self, board: Board) -> str:
        who = "Board" if len(self._subjects.boards) == 1 else f"Board {board.name}"
        said = f"{who}: {board_sentence(_reported(board))}."
        if board.status.state is BoardState.READY:
            said += f" Link: {board.counters.in_words()}."
        return said

    async def keep(self) -> None:
        """Write the file whenever something has changed; until cancelled."""
        written: AgentStatus | None = None
        while True:
            status = self.status()
            if status != written:
                self._write(status)
                written = status
            await rest(self._clock, LOOK_S)

    def _write(self, status: AgentStatus) -> None:
        try:
            write_status(self._path, status)
        except StorageFull as err:
            if self._is_kept:
                # Once: as the last trouble it is itself a change of the status, to be written
                _log.warning("status: cannot write the file (error=%s)", err)
            self._is_kept = False
        else:
            self._is_kept = True


def _reported(board: Board) -> BoardReport:
    status = board.status
    identity = status.identity
    return BoardReport(
        state=status.state.value,
        port=status.port,
        board="" if identity is None else identity.board,
        firmware="" if identity is None else identity.firmware,
        trouble=status.trouble,
        name=board.name,
    )


def board_sentence(board: BoardReport) -> str:
    """Return half a sentence about the board."""
    if board.state == BoardState.READY.value:
        said = f"{board.board} on {board.port}, firmware {board.firmware}"
    else:
        said = board.state
    return f"{said} ({board.trouble})" if board.trouble else said


def _span(duration_s: float) -> str:
    minutes, seconds = divmod(int(duration_s), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    told = [f"{count} {unit}" for count, unit in parts if count][:2]
    return f"up for {' '.join(told)}" if told else "just started"
