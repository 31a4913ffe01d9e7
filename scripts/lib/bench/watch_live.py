"""A watcher at work on what a board has told, with a clock that leaps from event to event."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent.hardware.watches import BoardWatcher
from agent.link.events import BoardEvent, BoardSubscription, Watch, value_of
from agent.messages import Attachment
from agent.passage import Passage
from scripts.lib.bench.watch_cases import BEGIN_S, WatchCase, manifest

if TYPE_CHECKING:
    from agent.link.manifest import Manifest

_MS = 1000


async def told_live(case: WatchCase, events: Sequence[Sequence[int]], folder: Path) -> list[int]:
    """Return when a watcher at work tells its owner of these events of the board."""
    owner, reading = _NotedOwner(), case.past.reading
    made = [
        BoardEvent(reading.name, value_of(manifest(), reading, raw), "", at_s, at_s, number, 0)
        for number, (at_ms, raw) in enumerate(events)
        for at_s in [BEGIN_S + at_ms / _MS]
    ]
    board = _ReplayedBoard(owner, made)
    watcher = BoardWatcher(board, {"random": case.wanted}, folder / "watches.json", owner)
    running = asyncio.create_task(watcher.run(owner))
    over = asyncio.create_task(board.is_over.wait())
    await asyncio.wait({running, over}, return_when=asyncio.FIRST_COMPLETED)
    for task in (running, over):
        task.cancel()
    ended = await asyncio.gather(running, over, return_exceptions=True)
    if isinstance(ended[0], Exception):
        raise ended[0]
    return owner.told_ms


class _NotedOwner:
    """Owner who notes when it was told; the clock is that of the newest event."""

    def __init__(self) -> None:
        self.now_s = float(BEGIN_S)
        self.told_ms: list[int] = []

    async def tell(self, text: str) -> None:
        del text
        self.told_ms.append(round((self.now_s - BEGIN_S) * _MS))

    async def show(self, text: str, files: Sequence[Attachment], line: str) -> None:
        raise NotImplementedError

    async def begin(self, subject: str, words: Passage) -> None:
        raise NotImplementedError

    def wall_s(self) -> float:
        return self.now_s

    def monotonic_s(self) -> float:
        return self.now_s

    async def sleep(self, duration_s: float) -> None:
        raise NotImplementedError


class _ReplayedBoard:
    """Board that tells of what happened already."""

    def __init__(self, owner: _NotedOwner, events: Sequence[BoardEvent]) -> None:
        self.manifest: Manifest | None = manifest()
        self.is_over = asyncio.Event()
        self.owner = owner
        self.events = events

    def subscribe(self, watch: Watch) -> BoardSubscription:
        return _ReplayedEvents(watch, self)


class _ReplayedEvents(BoardSubscription):
    """Events at their own times, one after the other was dealt with."""

    def __init__(self, watch: Watch, board: _ReplayedBoard) -> None:
        super().__init__(watch, asyncio.Event())
        self._board = board
        self._left = list(reversed(board.events))

    async def __anext__(self) -> BoardEvent:
        if not self._left:
            self._board.is_over.set()
            raise StopAsyncIteration
        event = self._left.pop()
        self._board.owner.now_s = event.at_s
        return event
