"""Messages to the service manager: datagrams to systemd's socket, see sd_notify(3).

A plain socket and no library: this is all of the protocol that a service needs, and the same on
every machine. Telling never waits and never fails; without a socket nothing is told.
"""

import logging
import os
import socket
from collections.abc import Mapping

from agent.system.logs import one_line

_log = logging.getLogger(__name__)

# Without WATCHDOG_USEC nobody counts; this is how often all is looked at for the status then
USUAL_WATCHDOG_S = 30.0


class SystemdNotifier:
    """Connection to the service manager, if there is one."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        named = environ.get("NOTIFY_SOCKET", "")
        # An abstract socket is written with @ and begins with a zero; other kinds are not ours
        self._address = f"\0{named[1:]}" if named.startswith("@") else named
        self.is_wanted = named.startswith(("/", "@"))
        self.watchdog_s = _watchdog_s(environ)
        self._has_failed = False

    def send(self, *assignments: str) -> None:
        """Send the assignments `NAME=value` in one datagram."""
        if not self.is_wanted:
            return
        content = "\n".join(map(one_line, assignments)).encode("utf-8", "replace")
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.setblocking(False)  # noqa: FBT003 - the name of the parameter is its own
                sender.sendto(content, self._address)
        except OSError as err:
            if not self._has_failed:
                _log.warning("notify: cannot reach the service manager (error=%s)", err)
            self._has_failed = True
        else:
            self._has_failed = False


def _watchdog_s(environ: Mapping[str, str]) -> float:
    """Return the interval in which a sign of life is expected."""
    # A program that we start inherits the variables, and nobody waits for its news
    is_ours = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    given = environ.get("WATCHDOG_USEC", "")
    if not is_ours or not given.isascii() or not given.isdigit() or not int(given):
        return USUAL_WATCHDOG_S
    return int(given) / 1_000_000
