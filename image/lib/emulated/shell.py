"""The root shell of a started image, which only a test's command line opens."""

import os
import socket
import time
from pathlib import Path

from image.lib.emulated.faults import GuestFailed

# A command in the emulated system takes a hundred times what it takes on a Pi
_ANSWER_S = 180.0
_READ_BYTES = 1024 * 1024


class Shell:
    """Commands, one after the other."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._asked = 0

    def answers(self) -> bool:
        try:
            return self.run("echo here", most_s=10.0).strip() == "here"
        except (GuestFailed, OSError):
            return False

    def run(self, command: str, most_s: float = _ANSWER_S) -> str:
        """Return the output of a command; raises GuestFailed when it does not end in time."""
        self._asked += 1
        # In two pieces, so that the echo of the line is not taken for the answer
        mark = f"{os.getpid()}-{self._asked}-{time.monotonic_ns()}"
        quiet = "stty -echo; export SYSTEMD_PAGER=cat TERM=dumb; echo"
        line = f"{quiet}; echo begin''-{mark}; {command}; echo end''-{mark}\n"
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(most_s)
            connection.connect(str(self._path))
            connection.sendall(line.encode())
            said = self._until(connection, f"end-{mark}", time.monotonic() + most_s)
        return said.partition(f"begin-{mark}")[2].partition(f"end-{mark}")[0].strip()

    def memory_mib(self) -> tuple[int, int]:
        """Return the machine's memory, and how much of it is in use."""
        total, used = self.run("free -m | head -2 | tail -1").split()[1:3]
        return int(total), int(used)

    def send(self, command: str) -> None:
        """For what gives no answer any more."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self._path))
            connection.sendall(f"\n{command}\n".encode())
            # QEMU reads it before the connection ends
            time.sleep(1.0)

    def _until(self, connection: socket.socket, end: str, deadline_s: float) -> str:
        said = b""
        while end.encode() not in said:
            if time.monotonic() > deadline_s:
                raise GuestFailed(f"no answer; said: {said[-300:]!r}")
            try:
                piece = connection.recv(_READ_BYTES)
            except OSError:
                piece = b""
            if not piece:
                raise GuestFailed(f"no answer; said: {said[-300:]!r}")
            said += piece
        return said.decode(errors="replace").replace("\r", "")
