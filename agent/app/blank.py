"""Composition of blank boards: looked for when something is plugged in, or a link meets one.

What asks is loaded when one is there.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent.access.owner import Tell
from agent.blank.boot_loader import USB_DEVICES, boot_loaders
from agent.link.board import SerialBoard
from agent.link.hello import is_at_prompt
from agent.settings import Settings
from agent.system.clock import Clock
from agent.system.folder_watch import FolderWatch

if TYPE_CHECKING:
    from agent.blank.notice import BlankBoards, Confirm

# The kernel makes a node here for each device of USB, in a folder for each bus: what /sys holds
# of a device comes and goes without a word to whoever watches /sys
USB_NODES = Path("/dev/bus/usb")
# The node comes first, and then what the device says of its flash
SETTLE_S = 1.0
# Where nobody could be asked, or the kernel tells nothing: somebody pairs, or plugs in a board
LOOK_AGAIN_S = 60.0
# All else is told. What the kernel has lost among too many events is seen by then
LOOK_AT_LEAST_S = 600.0


class BlankWatch:
    """Watch for boards without our firmware.

    Args:
        record: the file of an installation that was cut short.
        usb: what the kernel says of each device of USB; `nodes`: where it tells of new ones.
    """

    def __init__(
        self,
        boards: Sequence[SerialBoard],
        settings: Settings,
        record: Path,
        clock: Clock,
        usb: Path = USB_DEVICES,
        nodes: Path = USB_NODES,
    ) -> None:
        self._boards = boards
        self._settings = settings
        self._record = record
        self._clock = clock
        self._usb = usb
        self._plugged = FolderWatch(nodes, clock, LOOK_AGAIN_S, also_beneath=True)
        self._at_prompt = self._prompts()
        self._met = asyncio.Event()

    async def run(self, confirm: "Confirm", tell: Tell) -> None:
        """Until cancelled."""
        leave = [board.standing.watch(self._hear) for board in self._boards]
        try:
            await self._look_and_wait(confirm, tell)
        finally:
            self._plugged.close()
            for one in leave:
                one()

    async def _look_and_wait(self, confirm: "Confirm", tell: Tell) -> None:
        asking: BlankBoards | None = None
        while True:
            is_waiting = False
            if asking is None and await self._is_one_there():
                asking = await asyncio.to_thread(self._opened)
            if asking is not None:
                is_waiting = await asking.look(confirm, tell)
            await self._changed(LOOK_AGAIN_S if is_waiting else LOOK_AT_LEAST_S)

    async def _changed(self, at_most_s: float) -> None:
        """Return when a device may have come or gone, a link says something else, or it is time."""
        waits: list[Awaitable[object]] = [self._plugged.wait(at_most_s), self._met.wait()]
        tasks = [asyncio.ensure_future(one) for one in waits]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        self._met.clear()
        await self._clock.sleep(SETTLE_S)

    def _hear(self) -> None:
        """Note that a link has met a board without our firmware, or has it no more."""
        if (now := self._prompts()) != self._at_prompt:
            self._at_prompt = now
            self._met.set()

    def _prompts(self) -> list[bool]:
        return [is_at_prompt(board.status.trouble) for board in self._boards]

    async def _is_one_there(self) -> bool:
        return any(self._prompts()) or await asyncio.to_thread(
            lambda: self._record.exists() or bool(boot_loaders(self._usb))
        )

    def _opened(self) -> "BlankBoards":
        from agent.blank.notice import BlankBoards, BlankPlaces  # noqa: PLC0415 - where one is there

        settings = self._settings.every_board()
        places = BlankPlaces(self._record, self._usb)
        return BlankBoards(self._boards, settings, places, self._clock)
