"""Composition of blank boards: looked for now and then; what asks is loaded when one is there."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from agent.access.owner import Tell
from agent.blank.boot_loader import boot_loaders
from agent.link.hello import is_at_prompt
from agent.system.clock import rest

if TYPE_CHECKING:
    from agent.app.peripherals import RecordedParts
    from agent.blank.notice import BlankBoards, Confirm

# Whoever has plugged in a board waits for the question
LOOK_EVERY_S = 10.0
RECORD = "board-install.json"


async def watch(around: "RecordedParts", confirm: "Confirm", tell: Tell) -> None:
    """Until cancelled."""
    record = around.paths.state_dir / RECORD
    blank: BlankBoards | None = None
    while True:
        if blank is None:
            at_prompt = any(is_at_prompt(board.status.trouble) for board in around.boards)
            if at_prompt or await asyncio.to_thread(_is_one_known, record):
                blank = _opened(around, record)
        if blank is not None:
            await blank.look(confirm, tell)
        await rest(around.clock, LOOK_EVERY_S)


def _is_one_known(record: Path) -> bool:
    return record.exists() or bool(boot_loaders())


def _opened(around: "RecordedParts", record: Path) -> "BlankBoards":
    from agent.blank.notice import BlankBoards, BlankPlaces  # noqa: PLC0415 - where one is there

    settings = around.settings.every_board()
    return BlankBoards(around.boards, settings, BlankPlaces(record), around.clock)
