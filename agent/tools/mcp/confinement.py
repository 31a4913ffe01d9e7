"""Isolation of an MCP server's program: a systemd unit of its own, or bubblewrap.

It never runs as a user whom the agent takes for its owner. In the unit it is another user; in
bubblewrap it cannot reach the chat's socket, the state folder, keys or other processes. It has the
network and its own folder, and can read the rest of the system.
"""

import stat
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from agent.security.environment import PATH
from agent.security.sandbox.bubblewrap import PROBE_TIMEOUT_S, find_program
from agent.text.printable import printable_line
from agent.tools.mcp.lines import ServerSetup

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
_REMEDY = 'or set sandbox = "none" in its table, which gives it all rights of the agent'


class Confinement(Struct, frozen=True):
    """Starts the programs of servers isolated from the agent.

    Args:
        hidden: folders that they must not see, such as the agent's state.
    """

    hidden: Sequence[Path] = ()
    socket: Path = SOCKET

    def trouble(self) -> str:
        """Return the reason why no isolation works here; "" if one does."""
        if _is_socket(self.socket):
            return ""
        program = find_program()
        if program is None:
            return f"no isolation is available here: run `sudo apt install bubblewrap`, {_REMEDY}"
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
        return (
            f"bubblewrap cannot create namespaces here ({said}): allow user namespaces, {_REMEDY}"
        )

    def setup(
        self, command: Sequence[str], environment: Mapping[str, str], folder: Path
    ) -> ServerSetup:
        """Return the setup for the bridge; check `trouble` first."""
        told = dict(environment)
        if _is_socket(self.socket):
            home = str(UNITS_HOME)
            return ServerSetup(tuple(command), told | {"HOME": home}, home, socket=str(self.socket))
        wrapped = (str(find_program()), *_APART, *self._mounts(command, folder), "--", *command)
        return ServerSetup(wrapped, told, str(folder))

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
