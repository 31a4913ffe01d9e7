"""Choice of the board's port: the configured one, udev's name, or one that fits."""

import asyncio
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agent.link.port import Port, open_port
from agent.link.settings import BoardSettings
from agent.system.clock import Clock

if TYPE_CHECKING:
    from agent.system.folder_watch import FolderWatch

# A replugged board has to work again within 3 s, so the first tries are close together
FIRST_WAIT_S = 0.2
# A port where nothing useful answers is bothered no more often than this
LONGEST_WAIT_S = 5.0
# How often a missing or changed port is looked for where the kernel tells nothing: a stat of a path
POLL_S = 0.2
# How often where it does
LOOK_S = 10.0
_JITTER = 0.25


class BackOff:
    """Waits that double from the first to the longest, each a little off, until reset."""

    def __init__(self, chance: random.Random | None = None) -> None:
        self._chance = chance or random.Random()  # noqa: S311 - spreads tries, keeps no secret
        self._wait_s = FIRST_WAIT_S

    def next_s(self) -> float:
        wait_s = self._wait_s
        self._wait_s = min(LONGEST_WAIT_S, 2 * wait_s)
        return wait_s * self._chance.uniform(1 - _JITTER, 1)

    def reset(self) -> None:
        self._wait_s = FIRST_WAIT_S


# Given by our udev rule, so that it is the same whatever else is plugged in
UDEV_NAME = "barnacle-board"
# USB vendors of boards that run MicroPython: its own ids, and ST's debug probes and ports.
# Only these are written to: a stranger's printer must not be greeted.
_VENDORS = frozenset({0xF055, 0x0483})
_USB_SERIAL = ("ttyACM*", "ttyUSB*")

# Changes whenever a device is unplugged and plugged in again, even under the same name
PortIdentity = tuple[str, int, int, int]


class Ports(Protocol):
    """Ports where a board may be, and the way to open them."""

    async def find(self) -> str | None:
        """A path to try now; another one each time when several fit."""

    def identity(self, path: str) -> PortIdentity | None:
        """Return the device behind the path; None if there is none."""

    def missing(self) -> str:
        """A sentence for the person when nothing is found."""

    async def changed(self, at_most_s: float) -> None:
        """Return when a port may have come or gone, or the time is over."""

    def close(self) -> None:
        """Let go of what tells of changes; it may be used again."""

    async def open(self, path: str) -> Port:
        """An open port.

        Raises:
            LinkLost: it cannot be opened; the text says why.
        """


class SerialPorts:
    """The serial ports of this machine, as the `[board]` table narrows them down."""

    def __init__(self, settings: BoardSettings, clock: Clock, devices: Path = Path("/dev")) -> None:
        self._settings = settings
        self._devices = devices
        self._tried = 0
        self._clock = clock
        self._changes: FolderWatch | None = None

    async def find(self) -> str | None:
        configured = self._settings.port
        fixed = configured or str(self._devices / UDEV_NAME)
        if self.identity(fixed):
            return fixed
        return None if configured else await self._discover()

    def identity(self, path: str) -> PortIdentity | None:
        try:
            real = os.path.realpath(path)
            status = os.stat(real)  # noqa: PTH116 - realpath and stat of the same string
        except OSError:
            return None
        return real, status.st_rdev, status.st_ino, status.st_ctime_ns

    def missing(self) -> str:
        if self._settings.port:
            return f"{self._settings.port} not found: is the board plugged in?"
        return 'no board found on USB: plug one in, or set its port as "board.port"'

    async def changed(self, at_most_s: float) -> None:
        if self._changes is None:
            from agent.system.folder_watch import FolderWatch  # noqa: PLC0415 - where none is there

            configured = self._settings.port
            folder = Path(configured).parent if configured else self._devices
            self._changes = FolderWatch(folder, self._clock, POLL_S)
        await self._changes.wait(at_most_s)

    def close(self) -> None:
        if self._changes is not None:
            self._changes.close()

    async def open(self, path: str) -> Port:
        return await open_port(path, self._settings.start_baud, self._settings.top_baud)

    async def _discover(self) -> str | None:
        # Without any such device pyserial is not even loaded
        if not any(any(self._devices.glob(pattern)) for pattern in _USB_SERIAL):
            return None
        paths = await asyncio.to_thread(_ports_of_known_vendors)
        self._tried += 1
        return paths[self._tried % len(paths)] if paths else None


def may_be_a_board(usb_id: str) -> bool:
    """Return true if a device with that `vendor:product` may be probed."""
    vendor = usb_id.partition(":")[0]
    return bool(vendor) and int(vendor, 16) in _VENDORS


def _ports_of_known_vendors() -> list[str]:
    from serial.tools.list_ports import comports  # noqa: PLC0415 - only where USB devices are

    return sorted(str(port.device) for port in comports() if port.vid in _VENDORS)
