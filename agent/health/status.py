"""Status file of the running agent, `status.json`: written by it, read by everybody else.

The writer replaces the file whole; a reader takes a missing or damaged one as silence.
"""

import os
from functools import cache
from pathlib import Path

import msgspec

from agent.storage.files import write_atomic

# Far more than a status of many channels takes
_MAX_BYTES = 64 * 1024
# Position of the start time in /proc/<pid>/stat, counted after the program's name
_START_FIELD = 19


class BoardReport(msgspec.Struct, frozen=True):
    """The board; `state` is a value of `BoardState`."""

    state: str = "absent"
    port: str = ""
    board: str = ""
    firmware: str = ""
    trouble: str = ""
    name: str = "board"


class ChannelReport(msgspec.Struct, frozen=True):
    """A channel; `trouble` is a sentence, or empty while it works."""

    name: str
    trouble: str = ""


class AgentStatus(msgspec.Struct, frozen=True):
    """One agent; `start_ticks` tells it from a later program with the same pid."""

    pid: int
    start_ticks: int
    since_s: float
    version: str = ""
    provider: str = ""
    # Why the emergency stop is set; empty while it is not
    stopped: str = ""
    # The first board, and all of them
    board: BoardReport = BoardReport()
    boards: tuple[BoardReport, ...] = ()
    channels: tuple[ChannelReport, ...] = ()
    # Pins of this machine that this agent lets the boards' outputs have power by
    enable_gpios: tuple[int, ...] = ()
    # What is to be said of the memory; mostly nothing
    memory: str = ""
    # Why nothing can be kept; empty while it can
    storage: str = ""
    # What hurts the machine, in sentences; mostly nothing
    machine: tuple[str, ...] = ()
    last_error: str = ""
    last_error_at_s: float = 0.0

    @property
    def every_board(self) -> tuple[BoardReport, ...]:
        """All boards, also where an older agent told of one only."""
        return self.boards or (self.board,)

    @property
    def is_running(self) -> bool:
        return start_ticks_of(self.pid) == self.start_ticks


def start_ticks_of(pid: int) -> int | None:
    """Return a program's start time in ticks since boot; None if there is no such program."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The program's name may hold spaces and brackets: what counts follows the last bracket
    return int(line.rpartition(")")[2].split()[_START_FIELD])


@cache
def own_start_ticks() -> int:
    return start_ticks_of(os.getpid()) or 0


def write_status(path: Path, status: AgentStatus) -> None:
    """Replace the file.

    Raises:
        StorageFull: the old one is still there.
    """
    write_atomic(path, msgspec.json.encode(status))


def read_status(path: Path) -> AgentStatus | None:
    """Return the last status; None if there is none, or none that can be read."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES)
        return msgspec.json.decode(content, type=AgentStatus)
    except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
        return None
