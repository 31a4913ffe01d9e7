"""Blank boards noticed by the running agent: the owner is asked, and a yes installs the firmware.

Each is asked about once for each time that it is plugged in, and no board is written without a yes
that was given for it. What the boot loader's flash has no room for is not offered.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from agent.access.owner import Tell
from agent.blank.board_state import FlashState
from agent.blank.boot_loader import USB_DEVICES, BootLoader, boot_loaders
from agent.blank.carried import CarriedBoard, NotCarried, carried_boards, checked_dfu
from agent.blank.dfu import FOLDER, BadDfu
from agent.blank.install import (
    HeldBoard,
    InstallationStep,
    Installer,
    WriteMicroPython,
    by_unit,
    unfinished,
)
from agent.channels.base import Answer, Question, YesBy
from agent.errors import BarnacleError
from agent.link.base import BoardState
from agent.link.discovery import Ports, SerialPorts
from agent.link.hello import is_at_prompt
from agent.link.image import CARRIED
from agent.link.settings import BoardSettings
from agent.system.clock import Clock

# A person has to find the telephone; the board waits
QUESTION_LIMIT_S = 600.0
# No answer that comes sooner than somebody can read: nobody was there to be asked
READING_S = 2.0
# Of more boards that might be meant than these nobody wants to read
_MOST_ASKED = 4
_TOOL = "board_install"
_LOSES = "whatever is on it is lost, and its outputs are off meanwhile"

_log = logging.getLogger(__name__)

Confirm = Callable[[Question], Awaitable[Answer]]


class _NobodyThere(Exception):
    """Nobody could be asked."""


class BlankPlaces(Struct, frozen=True):
    """Places that boards and files are looked for in."""

    record: Path
    usb: Path = USB_DEVICES
    firmware: Path = CARRIED
    folder: Path = FOLDER


class BlankBoards:
    """Blank boards of one agent.

    Args:
        boards: the links, whose ports are left to the installation meanwhile.
        settings: of the links, in their order.
        write: the way to a boot loader.
        ports_of: the ports of a link, for tests.
    """

    def __init__(
        self,
        boards: Sequence[HeldBoard],
        settings: Sequence[BoardSettings],
        places: BlankPlaces,
        clock: Clock,
        write: WriteMicroPython = by_unit,
        ports_of: Callable[[BoardSettings, Clock], Ports] = SerialPorts,
    ) -> None:
        self._links = tuple(zip(boards, settings, strict=True))
        self._places = places
        self._clock = clock
        self._write = write
        self._ports_of = ports_of
        # What the owner was asked about and is still plugged in
        self._asked: set[str] = set()
        self._is_first = True
        self._telling: set[asyncio.Future[None]] = set()

    async def look(self, confirm: Confirm, tell: Tell) -> bool:
        """Ask about each blank board that is new, one after the other.

        Return true if nobody could be asked about one of them.
        """
        loaders = await asyncio.to_thread(boot_loaders, self._places.usb)
        prompts = {
            f"{link.status.port} {ports.identity(link.status.port)}": (link, settings)
            for link, settings in self._links
            if is_at_prompt(link.status.trouble)
            and (ports := self._ports_of(settings, self._clock)).identity(link.status.port)
        }
        present = {loader.visit for loader in loaders} | prompts.keys()
        self._asked &= present
        if self._is_first and not present:
            await self._tell_unfinished(tell)
        self._is_first = False
        for loader in loaders:
            if self._is_new(loader.visit):
                work = self._at_boot_loader(loader, confirm, tell)
                await self._told(loader.visit, work, tell)
        for seen, (link, settings) in prompts.items():
            if self._is_new(seen):
                await self._told(seen, self._at_prompt(link, settings, confirm, tell), tell)
        return not present <= self._asked

    async def _tell_unfinished(self, tell: Tell) -> None:
        """Tell of an installation that lost its power, where the board is not there by itself."""
        if before := await asyncio.to_thread(unfinished, self._places.record):
            await tell(
                f"The installation of {before.board} was cut short ({before.step.value}): hold "
                "BOOT0, press the board's reset button once, and I ask you again."
            )

    def _is_new(self, seen: str) -> bool:
        is_new = seen not in self._asked
        self._asked.add(seen)
        return is_new

    async def _told(self, seen: str, work: Awaitable[None], tell: Tell) -> None:
        try:
            await work
        except _NobodyThere:
            # Whoever pairs later is asked then
            self._asked.discard(seen)
        except (BarnacleError, OSError) as err:
            _log.warning("blank: not installed (reason=%s)", err)
            await tell(f"The board was not installed: {err}.")

    async def _at_boot_loader(self, loader: BootLoader, confirm: Confirm, tell: Tell) -> None:
        link, settings = self._free_link()
        boards = await asyncio.to_thread(self._fitting, loader)
        if not boards:
            raise NotCarried(
                "a board in its boot loader is plugged in, and this card has no MicroPython for it:"
                " build the card with `image/build --board NAME=FILE`, or put MicroPython onto the "
                "board on a PC"
            )
        where = f"a board in its boot loader is plugged in (USB port {loader.port})"
        for board in boards[:_MOST_ASKED]:
            if await self._is_wanted(board, where, "MicroPython and then our firmware", confirm):
                installer = self._installer(settings, tell)
                async with link.port_use:
                    await installer.by_boot_loader(board, loader, self._write)
                await tell(f"Done: {await installer.greeted(board, link)}.")
                return

    async def _at_prompt(
        self, link: HeldBoard, settings: BoardSettings, confirm: Confirm, tell: Tell
    ) -> None:
        installer, path = self._installer(settings, tell), link.status.port
        async with link.port_use:
            found = await installer.state(path)
        board = await asyncio.to_thread(self._called, found)
        found.require_room(board.name, board.files)
        where = f"a board that runs MicroPython without our firmware is at {path}"
        if await self._is_wanted(board, where, "our firmware", confirm):
            async with link.port_use:
                await installer.by_prompt(board, path)
            await tell(f"Done: {await installer.greeted(board, link)}.")

    async def _is_wanted(
        self, board: CarriedBoard, where: str, what: str, confirm: Confirm
    ) -> bool:
        before = await asyncio.to_thread(unfinished, self._places.record)
        again = "; an installation was cut short before" if before else ""
        question = Question(
            _TOOL,
            msgspec.json.encode({"board": board.name}).decode(),
            f"{where}{again}",
            f"It writes {what} for a {board.name} ({board.image.shown}); {_LOSES}",
            yes_by=YesBy.WORD,
        )
        begun_s = self._clock.monotonic_s()
        try:
            async with asyncio.timeout(QUESTION_LIMIT_S):
                answer = await confirm(question)
        except TimeoutError:
            return False
        if answer is Answer.NONE and self._clock.monotonic_s() - begun_s < READING_S:
            raise _NobodyThere
        return answer is Answer.YES

    def _free_link(self) -> tuple[HeldBoard, BoardSettings]:
        for link, settings in self._links:
            if link.status.state is not BoardState.READY:
                return link, settings
        raise NotCarried(
            "every configured board is there already: name the new one in [boards], restart the "
            "agent and plug it in again"
        )

    def _fitting(self, loader: BootLoader) -> list[CarriedBoard]:
        """Return the boards that the card has MicroPython for and the flash has room for."""
        found = []
        for board in carried_boards(self._places.firmware, self._places.folder):
            if board.dfu is None:
                continue
            try:
                _, elements = checked_dfu(board.name, self._places.folder)
            except BadDfu as err:
                _log.error("blank: file not used (board=%s, reason=%s)", board.name, err)
                continue
            if loader.has_room(elements):
                found.append(board)
        return found

    def _called(self, found: FlashState) -> CarriedBoard:
        for board in carried_boards(self._places.firmware, self._places.folder):
            if board.is_called(found.machine):
                return board
        raise NotCarried(
            f"a board that calls itself {found.machine or 'nothing'} runs MicroPython, and no "
            "firmware for it is here: `barnacle board describe` makes its board file, for "
            "scripts/flash on a PC"
        )

    def _installer(self, settings: BoardSettings, tell: Tell) -> Installer:
        def told(step: InstallationStep, percent: int) -> None:
            _log.info("blank: progress (step=%s, percent=%d)", step.name.lower(), percent)

        def hint(text: str) -> None:
            telling = asyncio.ensure_future(tell(text))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)

        ports = self._ports_of(settings, self._clock)
        return Installer(ports, self._places.record, self._clock, told, hint)
