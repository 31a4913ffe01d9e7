"""What keeps the program of an MCP server apart from the agent: a unit of its own, or bubblewrap.

It never runs as somebody whom the agent takes for its owner: in the unit it is another user, in
bubblewrap the socket of the chat, the state folder, keys and other processes do not exist for it.
It has the network, its own folder, and the rest of the system to read.
"""

import stat
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.printable import printable_line
from agent.security.environment import PATH
from agent.security.sandbox_bubblewrap import PROBE_TIMEOUT_S, find_program
from agent.tools.mcp.lines import Setup

# Where systemd/barnacle-mcp.socket listens, and the home of what it starts
SOCKET = Path("/run/barnacle-mcp/socket")
UNITS_HOME = Path("/var/lib/barnacle-mcp")
# Of the owner's home and the system: keys, and what the agent is told
_SECRETS = (
    *("~/.ssh", "~/.gnupg", "~/.aws", "~/.kube", "~/.docker", "~/.config/barnacle"),
    *("/etc/barnacle", "/etc/credstore", "/etc/credstore.encrypted", "/var/lib/barnacle"),
)
# /run is empty but for how names are looked up
_NAMES = ("/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf")
_EMPTY = Path("/tmp")  # noqa: S108 - its own
_NOBODY = "65534"
_APART = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--disable-userns"),
    *("--unshare-cgroup-try", "--uid", _NOBODY, "--gid", _NOBODY, "--cap-drop", "ALL"),
    *("--new-session", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc"),
    *("--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run"),  # noqa: S108 - its own
)
_MAX_DETAIL_CHARS = 120
_REMEDY = 'or say sandbox = "none" in its table, which gives it all the rights of the agent'


@dataclass(frozen=True, slots=True)
class Confinement:
    """The way to start programs of servers apart.

    Args:
        hidden: folders that they must not see, such as the agent's state.
    """

    hidden: Sequence[Path] = ()
    socket: Path = SOCKET

    def trouble(self) -> str:
        """Return why nothing keeps a program apart here; empty where something does."""
        if _is_socket(self.socket):
            return ""
        program = find_program()
        if program is None:
            return f"nothing keeps it apart here: `sudo apt install bubblewrap`, {_REMEDY}"
        try:
            done = subprocess.run(  # noqa: S603 - our own words
                [program, *_APART, "--", "true"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PROBE_TIMEOUT_S,
                env={"PATH": PATH},
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as err:
            said = type(err).__name__
        else:
            if done.returncode == 0:
                return ""
            said = printable_line(done.stderr.decode(errors="replace").strip(), _MAX_DETAIL_CHARS)
        return f"bubblewrap may not make namespaces here ({said}): allow them to users, {_REMEDY}"

    def setup(self, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> Setup:
        """Return what the bridge starts; `trouble` said before that it can."""
        told = dict(environment)
        if _is_socket(self.socket):
            home = str(UNITS_HOME)
            return Setup(tuple(command), told | {"HOME": home}, home, socket=str(self.socket))
        wrapped = (str(find_program()), *_APART, *self._mounts(command, folder), "--", *command)
        return Setup(wrapped, told, str(folder))

    def _mounts(self, command: Sequence[str], folder: Path) -> Iterator[str]:
        for name in _NAMES:
            yield from ("--ro-bind-try", name, name)
        hidden = [*self.hidden, *(Path(one).expanduser() for one in _SECRETS)]
        for path in hidden:
            if path.is_dir():
                yield from ("--tmpfs", str(path))
        # What the owner has named may lie in a folder that is hidden
        for word in command:
            named = Path(word)
            is_hidden = any(named.is_relative_to(one) for one in (*hidden, _EMPTY))
            # Never a socket, nor all of what is hidden
            if is_hidden and (named.is_file() or (named.is_dir() and named not in hidden)):
                yield from ("--ro-bind", word, word)
        yield from ("--bind", str(folder), str(folder), "--chdir", str(folder))


def _is_socket(address: Path) -> bool:
    try:
        return stat.S_ISSOCK(address.stat().st_mode)
    except OSError:
        return False
