"""Isolation of a program that answers as a model: a systemd unit of its own, or bubblewrap."""

import shutil
from pathlib import Path

from msgspec import Struct

from agent.providers.settings import ProgramSettings
from agent.security.environment import PATH, SANDBOX_HOME
from agent.security.sandbox.base import Sandbox
from agent.security.sandbox.choice import choose
from agent.security.sandbox.systemd import SystemdSandbox

# Where the sockets in systemd/ listen: without a network, and with one
SOCKET = Path("/run/barnacle-program/socket")
ONLINE_SOCKET = Path("/run/barnacle-program-online/socket")
# The home of what they start
UNITS_HOME = Path("/var/lib/barnacle-program")


class ProgramPlace(Struct, frozen=True):
    """Place where a program runs.

    Args:
        home: the folder that it may fill; None for an empty one that is lost.
        trouble: why it cannot run; empty where it can.
    """

    sandbox: Sandbox | None
    home: Path | None = None
    trouble: str = ""

    @property
    def told_home(self) -> Path:
        """Return its HOME."""
        return self.home or SANDBOX_HOME


class ProgramIsolation(Struct, frozen=True):
    """Finds the place of a program."""

    socket: Path = SOCKET
    online_socket: Path = ONLINE_SOCKET
    units_home: Path = UNITS_HOME

    def place(self, declared: ProgramSettings) -> ProgramPlace:
        """Return the place; blocking, for a thread."""
        if trouble := missing(declared):
            return ProgramPlace(None, trouble=trouble)
        address = self.online_socket if declared.network else self.socket
        choice = choose(self.units_home, address)
        if isinstance(choice.sandbox, SystemdSandbox):
            return ProgramPlace(choice.sandbox, self.units_home)
        home = Path(declared.home) if declared.home else None
        return ProgramPlace(choice.sandbox, home, choice.trouble)


def missing(declared: ProgramSettings) -> str:
    """Return what the declaration names and this machine has not; empty if it has all."""
    program = declared.command[0]
    if shutil.which(program, path=PATH) is None:
        where = "" if program.startswith("/") else f" in {PATH}"
        return f"program {program} not found{where} (program.command): install it or name its path"
    for path in declared.reads:
        if not Path(path).exists():
            return f"{path} not found (program.reads)"
    if declared.home and not Path(declared.home).is_dir():
        return f"{declared.home} is not a folder (program.home): make it, for nobody else to read"
    return ""
