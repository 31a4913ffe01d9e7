"""A board made from blank, in steps that can each be begun again after a cut.

boot loader -> MicroPython written and compared -> its prompt -> our files copied and compared ->
our firmware greets -> its pins answer. The step that is under way is noted on disk, so that a cut
of the Pi's own power is told; it is never gone on with unasked, because another board may be there.
"""

import asyncio
import enum
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from agent.blank import copying
from agent.blank.board_state import FlashState, Unsuitable
from agent.blank.boot_loader import BootLoader
from agent.blank.carried import CarriedBoard, require_called
from agent.blank.flashing import FlashingFailed, OnProgress, Progress
from agent.errors import CallRefused, LinkLost
from agent.link.base import Board, BoardState
from agent.link.discovery import Ports
from agent.link.prompt import Prompt
from agent.security.environment import own_environment
from agent.storage.files import write_atomic
from agent.system.clock import Clock

# Where systemd/barnacle-board.socket listens
SOCKET = Path("/run/barnacle-board/socket")
# A reset, a file system made for the first time, and a USB device seen anew
PORT_LIMIT_S = 60.0
# Reset, boot window, first pass; the agent looks for it at most every 5 s
GREETING_LIMIT_S = 60.0
# A unit starts within it on the smallest Pi under load
_UNIT_LIMIT_S = 20.0
# dfu-util's own limit is shorter, and there are four of its steps
_WRITE_LIMIT_S = 1000.0
_LOOK_EVERY_S = 0.2
_MAX_LINE_BYTES = 2048
_LIGHT = "led"

_log = logging.getLogger(__name__)

# Writes MicroPython for a board by the boot loader at a port of USB; the unit does it, or a child
WriteMicroPython = Callable[[str, str, OnProgress], Awaitable[None]]


class InstallationStep(enum.Enum):
    """Step of an installation; the value is what is told of it."""

    # MicroPython's blocks go through the boot loader, and are read back
    MICROPYTHON = "writing MicroPython"
    # The board starts it, and its port appears
    PROMPT = "waiting for MicroPython's prompt"
    # The firmware's files are written at the prompt, and compared
    FIRMWARE = "copying the firmware"
    # The firmware starts
    GREETING = "waiting for the firmware"


class Unfinished(Struct, frozen=True):
    """Installation that has not ended: its board, and the step it was in."""

    board: str
    step: InstallationStep


class HeldBoard(Board, Protocol):
    """A link that leaves its port to whoever has `port_use`."""

    port_use: asyncio.Lock


OnStep = Callable[[InstallationStep, int], None]


class Installer:
    """One installation; the board's port is the caller's to keep free.

    Args:
        ports: where MicroPython's port will be.
        record: the file that says what is under way.
        on_step: is told the step and how much of it is done, in percent.
        hint: is told when a person must press the board's button.
    """

    def __init__(
        self, ports: Ports, record: Path, clock: Clock, on_step: OnStep, hint: Callable[[str], None]
    ) -> None:
        self._ports = ports
        self._record = record
        self._clock = clock
        self._on_step = on_step
        self._hint = hint

    async def by_boot_loader(
        self, board: CarriedBoard, loader: BootLoader, write: WriteMicroPython
    ) -> None:
        """Write MicroPython and the firmware.

        Raises:
            BarnacleError: it is not done; the text says why and what to do.
        """
        await self._begin(board, InstallationStep.MICROPYTHON)

        def tell(progress: Progress) -> None:
            self._on_step(InstallationStep.MICROPYTHON, progress.percent)

        await write(board.name, loader.port, tell)
        await self._begin(board, InstallationStep.PROMPT)
        await self.by_prompt(board, await self._port(), is_chosen=False)

    async def by_prompt(
        self,
        board: CarriedBoard,
        path: str,
        *,
        is_chosen: bool = True,
        others: Sequence[CarriedBoard] = (),
    ) -> None:
        """Copy the firmware onto a board that runs MicroPython.

        Args:
            is_chosen: the yes was given for what is at this port.
            others: known boards, which it must not be instead.

        Raises:
            BarnacleError: it is not done; the text says why and what to do.
        """
        port = await self._ports.open(path)
        try:
            prompt = Prompt(port)
            await prompt.reach(self._hint)
            found = await copying.ask_state(prompt)
            if not is_chosen and not board.is_called(found.machine):
                raise Unsuitable(
                    f"MicroPython is on the {board.name}, but another board answers at {path} "
                    f"({found.machine or 'without a name'}) and was left as it is: unplug that one "
                    f"and plug the new one in again; `barnacle board install {board.name}` goes on"
                )
            require_called(board.name, found.machine, {one.name: one.machines for one in others})
            if not found.is_frozen:
                found.require_room(board.name, board.files)
                await self._begin(board, InstallationStep.FIRMWARE)
                await copying.put(board.files, found, prompt, self._copied)
            await self._begin(board, InstallationStep.GREETING)
            await copying.restart(prompt)
        finally:
            await port.aclose()

    async def state(self, path: str) -> FlashState:
        """Ask a board at its prompt what it is; nothing on it changes.

        Raises:
            BarnacleError: it does not say.
        """
        port = await self._ports.open(path)
        try:
            prompt = Prompt(port)
            await prompt.reach(self._hint)
            return await copying.ask_state(prompt)
        finally:
            await port.aclose()

    async def greeted(self, board: CarriedBoard, link: Board) -> str:
        """Wait for the firmware on the link, try its pins; return how they are.

        Raises:
            LinkLost: it does not answer, or it is another one.
        """
        until_s = self._clock.monotonic_s() + GREETING_LIMIT_S
        while (status := link.status).state is not BoardState.READY:
            if self._clock.monotonic_s() > until_s:
                raise LinkLost(
                    f"the files are on the board, but the firmware does not answer: "
                    f"{status.trouble or 'press its reset button'}"
                )
            await self._clock.sleep(_LOOK_EVERY_S)
        identity = status.identity
        if identity is None or identity.build not in board.builds:
            said = "another firmware" if identity is None else f"build {identity.build}"
            raise LinkLost(f"{said} answers, not build {board.image.about.build}: start over")
        tried = await pin_test(link)
        await asyncio.to_thread(self._record.unlink, missing_ok=True)
        return f"{identity.board} runs firmware {board.image.shown}; {tried}"

    async def _port(self) -> str:
        until_s = self._clock.monotonic_s() + PORT_LIMIT_S
        while (path := await self._ports.find()) is None:
            if self._clock.monotonic_s() > until_s:
                raise LinkLost(
                    "MicroPython is on the board, but its port does not appear: press its reset "
                    "button, without BOOT0"
                )
            await self._clock.sleep(_LOOK_EVERY_S)
        return path

    def _copied(self, sent: int, whole: int) -> None:
        self._on_step(InstallationStep.FIRMWARE, 100 * sent // whole)

    async def _begin(self, board: CarriedBoard, step: InstallationStep) -> None:
        self._on_step(step, 0)
        _log.info("blank: step (board=%s, step=%s)", board.name, step.name.lower())
        note = msgspec.json.encode(Unfinished(board.name, step))
        await asyncio.to_thread(write_atomic, self._record, note)


def unfinished(record: Path) -> Unfinished | None:
    """Return the installation that was cut short, if one was."""
    try:
        return msgspec.json.decode(record.read_bytes(), type=Unfinished)
    except (OSError, msgspec.MsgspecError):
        return None


async def pin_test(board: Board) -> str:
    """Read every pin, and switch the light on and off; return what answered.

    No other output is touched: nobody knows yet what is wired to it.
    """
    manifest = board.manifest
    if manifest is None:
        return "it has no pins"
    failed, count = [], 0
    for method, capability in (("gpio_read", "in"), ("adc_read", "adc")):
        if manifest.method(method) is None:
            continue
        for pin in manifest.pins_that_can(capability):
            count += 1
            try:
                await board.call(method, {"pin": pin.name})
            except CallRefused as err:
                failed.append(f"{pin.name} ({err})")
    light = await _light_test(board)
    wrong = f", not {', '.join(failed)}" if failed else ""
    return f"{count - len(failed)} of {count} pins answer{wrong}{light}"


async def _light_test(board: Board) -> str:
    assert board.manifest is not None
    if not any(pin.name == _LIGHT for pin in board.manifest.pins_that_can("out")):
        return ""
    try:
        # The answer is what the pin then has
        answers = [
            await board.call("gpio_write", {"pin": _LIGHT, "value": level})
            for level in ("on", "off")
        ]
    except CallRefused as err:
        return f", the light was refused ({err})"
    finally:
        await board.release()
    seen = [answer["value"] for answer in answers]
    return ", the light switches" if seen == ["on", "off"] else ", the light does not switch"


async def by_child(board: str, port: str, on_progress: OnProgress) -> None:
    """Write MicroPython by a program of this user's own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-m", "agent.blank.flashing", board, port),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        env=own_environment(os.environ),
    )
    assert process.stdout is not None
    try:
        await _followed(process.stdout, on_progress)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def by_unit(board: str, port: str, on_progress: OnProgress, address: Path = SOCKET) -> None:
    """Write MicroPython by `barnacle-board@.service`: the agent itself has no USB."""
    try:
        async with asyncio.timeout(_UNIT_LIMIT_S):
            reader, writer = await asyncio.open_unix_connection(address, limit=_MAX_LINE_BYTES)
    except (OSError, TimeoutError) as err:
        raise FlashingFailed(
            f"{address} does not answer: `sudo systemctl start barnacle-board.socket`, or "
            "`sudo barnacle board install` with the agent stopped"
        ) from err
    try:
        writer.write(f"{board} {port}\n".encode())
        await _followed(reader, on_progress)
    finally:
        writer.close()


async def _followed(reader: asyncio.StreamReader, on_progress: OnProgress) -> None:
    """Read what the program says until it has ended.

    Raises:
        FlashingFailed: in its words.
    """
    try:
        async with asyncio.timeout(_WRITE_LIMIT_S):
            while line := await reader.readline():
                progress = msgspec.json.decode(line, type=Progress)
                if progress.failed:
                    raise FlashingFailed(progress.failed)
                if progress.is_done:
                    return
                on_progress(progress)
    except (TimeoutError, OSError, ValueError) as err:
        raise FlashingFailed("the program that writes the board was lost: start over") from err
    raise FlashingFailed("the program that writes the board ended in the middle: start over")
