"""Place of the socket, its permissions, and the two ways to use it: listen and connect."""

import contextlib
import os
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from agent.channels.attached.peers import GROUP, group_id
from agent.errors import ChannelRefused, ChannelUnavailable

NAME = "chat.sock"
# Where systemd makes it, for people who have a state folder of their own
SYSTEM_FOLDER = Path("/run/barnacle")
# An agent that is alive takes a connection at once; one that is stopped by hand never does
CONNECT_TIMEOUT_S = 2.0
# Connections that wait to be looked at
_BACKLOG = 32


def socket_path(environ: Mapping[str, str], state_dir: Path, name: str = NAME) -> Path:
    """Return the socket's path: in systemd's runtime folder, else in the state folder."""
    given = environ.get("RUNTIME_DIRECTORY", "").partition(":")[0]
    return (Path(given) if given else state_dir) / name


@contextlib.contextmanager
def listening(path: Path, state_dir: Path, group: str = GROUP) -> Iterator[socket.socket]:
    """A socket at `path`, found from the state folder too; gone afterwards.

    Whoever holds the state folder's lock may call it, so that what lies there is left over.

    Args:
        group: whose members may connect, where the machine has it.

    Raises:
        ChannelRefused: there cannot be one.
    """
    link = state_dir / path.name
    try:
        made = _made(path, group)
        if link != path:
            link.unlink(missing_ok=True)
            link.symlink_to(path)
    except OSError as err:
        raise ChannelRefused(f"cannot open the socket {path}: {err.strerror}") from err
    try:
        yield made
    finally:
        made.close()
        for left in {path, link}:
            with contextlib.suppress(OSError):
                left.unlink()


def connected(path: Path) -> socket.socket:
    """A connection to the agent that listens there.

    Raises:
        ChannelRefused: it is not for us.
        ChannelUnavailable: nobody listens there now.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(CONNECT_TIMEOUT_S)
        with _reachable(path) as short:
            connection.connect(short)
    except PermissionError as err:
        connection.close()
        raise ChannelRefused(
            f"no permission to open {path}: ask the agent's owner to add you to the group "
            f"{GROUP}, or name a state folder of your own with --state-dir"
        ) from err
    except OSError as err:
        connection.close()
        raise ChannelUnavailable(
            f"no agent is running at {path} ({err.strerror or err}): start it with `barnacle run`"
        ) from err
    return connection


def _made(path: Path, group: str) -> socket.socket:
    with contextlib.suppress(FileNotFoundError):
        mode = path.lstat().st_mode
        if not (stat.S_ISSOCK(mode) or stat.S_ISLNK(mode)):
            raise FileExistsError(0, "something else is there")
        path.unlink()
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _reachable(path) as short:
            made.bind(short)
        # Nobody can connect before `listen`: there is no moment with other rights
        path.chmod(_mode(path, group))
        made.listen(_BACKLOG)
        # Waited for by the event loop
        made.settimeout(0)
    except OSError:
        made.close()
        raise
    return made


def _mode(path: Path, name: str) -> int:
    """For the group too, where there is one and the agent may give it something."""
    group = group_id(name)
    if group is None:
        return 0o600
    try:
        os.chown(path, -1, group)
    except PermissionError:
        return 0o600
    return 0o660


@contextlib.contextmanager
def _reachable(path: Path) -> Iterator[str]:
    """A short name for it: the address of a socket has room for 107 bytes."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
