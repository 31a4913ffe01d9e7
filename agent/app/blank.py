"""Composition of blank boards: looked for now and then; what asks is loaded when one is there."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent.access.owner import Tell
from agent.blank.boot_loader import boot_loaders
from agent.link.board import SerialBoard
from agent.link.hello import is_at_prompt
from agent.settings import Settings
from agent.system.clock import Clock, rest

if TYPE_CHECKING:
    from agent.blank.notice import BlankBoards, Confirm

# Whoever has plugged in a board waits for the question
LOOK_EVERY_S = 10.0


class BlankWatch:
    """Watch for boards without our firmware.

    Args:
        record: the file of an installation that was cut short.
    """

    def __init__(
        self, boards: Sequence[SerialBoard], settings: Settings, record: Path, clock: Clock
    ) -> None:
        self._boards = boards
        self._settings = settings
        self._record = record
        self._clock = clock

    async def run(self, confirm: "Confirm", tell: Tell) -> None:
        """Until cancelled."""
        asking: BlankBoards | None = None
        while True:
            if asking is None and await self._is_one_there():
                asking = await asyncio.to_thread(self._opened)
            if asking is not None:
                await asking.look(confirm, tell)
            await rest(self._clock, LOOK_EVERY_S)

    async def _is_one_there(self) -> bool:
        at_prompt = any(is_at_prompt(board.status.trouble) for board in self._boards)
        return at_prompt or await asyncio.to_thread(
            lambda: self._record.exists() or bool(boot_loaders())
        )

    def _opened(self) -> "BlankBoards":
        from agent.blank.notice import BlankBoards, BlankPlaces  # noqa: PLC0415 - where one is there

        settings = self._settings.every_board()
        return BlankBoards(self._boards, settings, BlankPlaces(self._record), self._clock)
