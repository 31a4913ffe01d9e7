"""Entries of systemd's journal with fields of their own, by its datagram socket: no library needed.

An entry that the journal does not take within a moment is lost: nobody waits for a log.
"""

import socket
import struct
from pathlib import Path

SOCKET = Path("/run/systemd/journal/socket")
# The journal takes thousands in a second; one that hangs must not hang the agent with it
SEND_TIMEOUT_S = 0.1


class SystemdJournal:
    """Journal of the system, if there is one.

    Raises:
        OSError: there is none.
    """

    def __init__(self, path: Path = SOCKET) -> None:
        self._path = str(path)
        if not path.is_socket():
            raise FileNotFoundError(self._path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.settimeout(SEND_TIMEOUT_S)

    def send(self, *fields: str) -> None:
        """One entry, each field as NAME=value.

        Raises:
            OSError: it was not taken.
        """
        # By address, not connected: a journal that starts again is found again
        self._socket.sendto(b"".join(map(_encoded, fields)), self._path)

    def close(self) -> None:
        self._socket.close()


def _encoded(field: str) -> bytes:
    name, _, value = field.partition("=")
    content = value.encode("utf-8", "replace")
    if b"\n" not in content:
        return b"%s=%s\n" % (name.encode(), content)
    # A line feed would begin another field
    return b"%s\n%s%s\n" % (name.encode(), struct.pack("<Q", len(content)), content)
