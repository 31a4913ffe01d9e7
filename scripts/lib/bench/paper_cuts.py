"""Cuts on paper: files as they are after power was lost at any point of what a program wrote.

What a program has flushed is there. Of the rest, each write, or each of its sectors, may be there
or not, whatever its order; a new, removed or renamed file is what its folder was flushed as, or
any later state. That is the least that POSIX promises, and less than any file system keeps.
"""

import enum
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

SECTOR_BYTES = 512


@dataclass(frozen=True, slots=True)
class WriteEvent:
    """Bytes that were handed to the kernel."""

    path: Path
    place: int
    data: bytes


@dataclass(frozen=True, slots=True)
class SizeEvent:
    """A file was cut or lengthened to so many bytes."""

    path: Path
    size: int


@dataclass(frozen=True, slots=True)
class FlushEvent:
    """A file or a folder is on the disk for good."""

    path: Path


@dataclass(frozen=True, slots=True)
class NameEvent:
    """A file got a name, a new one, or lost it; both for a file that was renamed."""

    old: Path | None
    new: Path | None


@dataclass(frozen=True, slots=True)
class SaidEvent:
    """The program has said something to whoever listens."""

    text: str


Event = WriteEvent | SizeEvent | FlushEvent | NameEvent | SaidEvent


class Fate(enum.Enum):
    """Fate of what was not flushed."""

    # As after a kill: the kernel writes it all
    ALL = enum.auto()
    NONE = enum.auto()
    SOME_WRITES = enum.auto()
    SOME_SECTORS = enum.auto()


@dataclass(slots=True)
class _File:
    """A file with what is on the disk, and what came since it was flushed."""

    kept: bytearray = field(default_factory=bytearray)
    pending: list[WriteEvent | SizeEvent] = field(default_factory=list)


_Names = dict[Path, _File]


class PaperDisk:
    """Files of some folders that go through the events of a program.

    Args:
        files: what was there for good before it began.
    """

    def __init__(self, files: Iterable[tuple[Path, bytes]] = ()) -> None:
        self._now: _Names = {path: _File(bytearray(data)) for path, data in files}
        # By folder: its names as they were flushed, and every state since
        self._states: dict[Path, list[_Names]] = {}

    def advance(self, event: Event) -> None:
        """Go through one event; a flush is done when it has returned."""
        match event:
            case WriteEvent(path) | SizeEvent(path):
                self._now[path].pending.append(event)
            case FlushEvent(path):
                if path in self._now:
                    file = self._now[path]
                    for one in file.pending:
                        _apply(one, file.kept)
                    file.pending.clear()
                else:
                    self._states[path] = [self._names(path)]
            case NameEvent(old, new):
                self._rename(old, new)
            case SaidEvent():
                pass

    def cut(self, chance: random.Random, fate: Fate) -> dict[Path, bytes]:
        """Return the files that are found afterwards."""
        found: dict[Path, bytes] = {}
        for folder in {path.parent for path in self._now} | set(self._states):
            states = self._states.get(folder) or [self._names(folder)]
            match fate:
                case Fate.ALL:
                    state = states[-1]
                case Fate.NONE:
                    state = states[0]
                case _:
                    state = chance.choice(states)
            found |= {path: _left(file, chance, fate) for path, file in state.items()}
        return found

    def _names(self, folder: Path) -> _Names:
        return {path: file for path, file in self._now.items() if path.parent == folder}

    def _rename(self, old: Path | None, new: Path | None) -> None:
        if old is None and new in self._now:
            # Opened as if it were new
            return
        folders = {path.parent for path in (old, new) if path is not None}
        for folder in folders:
            self._states.setdefault(folder, [self._names(folder)])
        file = self._now.pop(old) if old is not None else _File()
        if new is not None:
            self._now[new] = file
        for folder in folders:
            self._states[folder].append(self._names(folder))


def _left(file: _File, chance: random.Random, fate: Fate) -> bytes:
    content = bytearray(file.kept)
    for event in file.pending:
        if fate is Fate.ALL or (fate is Fate.SOME_WRITES and chance.random() < 1 / 2):
            _apply(event, content)
        elif fate is Fate.SOME_SECTORS:
            for piece in _sectors(event):
                if chance.random() < 1 / 2:
                    _apply(piece, content)
    return bytes(content)


def _sectors(event: WriteEvent | SizeEvent) -> list[WriteEvent | SizeEvent]:
    if isinstance(event, SizeEvent):
        return [event]
    made: list[WriteEvent | SizeEvent] = []
    begin, end = event.place, event.place + len(event.data)
    while begin < end:
        until = min(end, (begin // SECTOR_BYTES + 1) * SECTOR_BYTES)
        data = event.data[begin - event.place : until - event.place]
        made.append(WriteEvent(event.path, begin, data))
        begin = until
    return made


def _apply(event: WriteEvent | SizeEvent, content: bytearray) -> None:
    if isinstance(event, SizeEvent):
        del content[event.size :]
        content.extend(bytes(event.size - len(content)))
        return
    end = event.place + len(event.data)
    content.extend(bytes(max(0, end - len(content))))
    content[event.place : end] = event.data
