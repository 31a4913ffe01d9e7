"""Choice of the sandbox: our systemd units, else bubblewrap, else none."""

import stat
from pathlib import Path

from msgspec import Struct

from agent.security.sandbox.base import Sandbox
from agent.security.sandbox.bubblewrap import Bubblewrap, find_program
from agent.security.sandbox.systemd import SOCKET, SystemdSandbox
from agent.text.printable import printable_line

_MAX_DETAIL_CHARS = 120
_NONE = "no sandbox found (barnacle-tool or bubblewrap): run `sudo apt install bubblewrap`"
_BROKEN = (
    "bubblewrap cannot create namespaces here ({}): allow user namespaces, see "
    "kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns"
)


class SandboxChoice(Struct, frozen=True):
    """A working sandbox, or the reason why there is none."""

    sandbox: Sandbox | None
    trouble: str = ""


def choose(workspace: Path, address: Path = SOCKET) -> SandboxChoice:
    """Return the first sandbox that passes a trial run."""
    if _is_socket(address):
        return SandboxChoice(SystemdSandbox(workspace, address))
    program = find_program()
    if program is None:
        return SandboxChoice(None, _NONE)
    bubblewrap = Bubblewrap(workspace, program)
    if trouble := bubblewrap.trouble():
        return SandboxChoice(None, _BROKEN.format(printable_line(trouble, _MAX_DETAIL_CHARS)))
    return SandboxChoice(bubblewrap)


def _is_socket(address: Path) -> bool:
    try:
        return stat.S_ISSOCK(address.stat().st_mode)
    except OSError:
        return False
