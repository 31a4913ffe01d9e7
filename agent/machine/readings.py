"""Every reading of the machine in one place: what the doctor, the senses and the tools look at.

All of it is read beneath a root that can be replaced. Blocking, though never for long: where a disk
may hang, call it in a thread.
"""

import os
from pathlib import Path

from agent.machine import computer, file_system, network, power, wireless
from agent.machine.file_system import Card, FileSystem, Statvfs
from agent.machine.kernel import Kernel
from agent.machine.network import Network
from agent.machine.wireless import Wireless


class Readings:
    """Readings of this machine, taken at each call.

    Args:
        folder: on the disk whose room is told.
        root: where `proc`, `sys`, `dev`, `run` and `etc` are.
        statvfs: asks a file system.
    """

    def __init__(self, folder: Path, root: Path = Path("/"), statvfs: Statvfs = os.statvfs) -> None:
        self.folder = folder
        self.kernel = Kernel(root)
        self._statvfs = statvfs

    def load_1min(self) -> float | None:
        return computer.load_1min(self.kernel)

    def uptime_s(self) -> int | None:
        return computer.uptime_s(self.kernel)

    def memory_mb(self) -> dict[str, int]:
        return computer.memory_mb(self.kernel)

    def temperature_c(self) -> float | None:
        return computer.temperature_c(self.kernel)

    def throttled(self) -> list[str] | None:
        return power.throttled(self.kernel)

    def card(self) -> Card:
        return file_system.card(self.kernel, self.folder)

    def wireless(self) -> list[Wireless]:
        return wireless.wireless(self.kernel)

    def network(self) -> Network:
        return network.network(self.kernel)

    def room(self) -> FileSystem | None:
        return file_system.read_file_system(self.folder, self.kernel, self._statvfs)
