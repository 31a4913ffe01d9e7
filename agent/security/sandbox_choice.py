"""Which sandbox there is on this machine: that of our systemd units, else bubblewrap, else none."""

import stat
from dataclasses import dataclass
from pathlib import Path

from agent.printable import printable_line
from agent.security.sandbox import Sandbox
from agent.security.sandbox_bubblewrap import Bubblewrap, find_program
from agent.security.sandbox_systemd import SOCKET, SystemdSandbox

_MAX_DETAIL_CHARS = 120
_NONE = "there is neither the socket of barnacle-tool nor bubblewrap: `sudo apt install bubblewrap`"
_BROKEN = (
    "bubblewrap may not make namespaces here ({}): allow them to users, "
    "see kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns"
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A sandbox that works, or why there is none."""

    sandbox: Sandbox | None
    trouble: str = ""


def choose(workspace: Path, address: Path = SOCKET) -> Choice:
    """Tried out before it is chosen: what does not keep apart is no sandbox."""
    if _is_socket(address):
        return Choice(SystemdSandbox(workspace, address))
    program = find_program()
    if program is None:
        return Choice(None, _NONE)
    bubblewrap = Bubblewrap(workspace, program)
    if trouble := bubblewrap.trouble():
        return Choice(None, _BROKEN.format(printable_line(trouble, _MAX_DETAIL_CHARS)))
    return Choice(bubblewrap)


def _is_socket(address: Path) -> bool:
    try:
        return stat.S_ISSOCK(address.stat().st_mode)
    except OSError:
        return False
