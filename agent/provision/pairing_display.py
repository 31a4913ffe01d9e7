"""The code by which the first owner is let in, shown where only who has the device sees it.

The same code from start to start until somebody has used it: who reads it on the card has to start
the device with it again. It counts for 15 minutes after each start.
"""

import contextlib
import json
import logging
import os
import re
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from agent.errors import BarnacleError
from agent.provision.firmware import Firmware
from agent.storage.files import write_atomic

_log = logging.getLogger(__name__)

NAME = "barnacle-pairing.txt"
REMEMBERED = "pairing-code"
CODE = re.compile(r"[0-9A-Z]{5}-[0-9A-Z]{5}")
# As long as a code counts
SHOWN_S = 15 * 60.0
# How soon the note is gone after somebody was let in
LOOK_EVERY_S = 3.0
_MAX_PEOPLE_BYTES = 1024 * 1024
_MESSAGE = """\
To become the owner of this device, type this code at http://{machine}.local in a browser of
the same network, or send the line to the device's bot in a private chat:

    /pair {code}

The code works once, within 15 minutes after each start of the device. Without a network yet:
plug in a cable, or write the Wi-Fi into barnacle.toml beside this file.

If another device in the network is called {machine} too, that page may be the other one's: first
write a name of its own for this one (hostname = "...") into barnacle.toml, and restart it.
"""
_LATE = """\
This device has no owner yet. Restart it to get a new code.
"""
_UNKEPT = """\
This start knows no owner, and lets nobody become one: {why}.
"""


class PairingDisplay(Struct, frozen=True):
    """Display of the pairing code of one start.

    Args:
        state: root's own folder, in which the code is kept.
        people: the file of the agent in which its owner stands.
        screens: devices and files that people without a network look at.
        open_code: makes a code count, the given one or a new one; empty where none is wanted.
        unkept: why an owner would be forgotten with the next start; usually empty.
    """

    firmware: Firmware
    state: Path
    people: Path
    screens: Sequence[Path]
    open_code: Callable[[str], str]
    sleep: Callable[[float], None] = time.sleep
    now_s: Callable[[], float] = time.monotonic
    unkept: str = ""

    def run(self) -> None:
        """Show the code until there is an owner or the code expires."""
        if self.unkept:
            self._say_why_not()
            return
        code = "" if has_owner(self.people) else self.open_code(self._remembered())
        if not code:
            self._forget()
            return
        write_atomic(self.state / REMEMBERED, f"{code}\n".encode())
        told = _MESSAGE.format(code=code, machine=socket.gethostname())
        self._show(told)
        for line in filter(None, told.splitlines()):
            _log.warning("%s", line.strip())
        with contextlib.suppress(BarnacleError, OSError):
            self.firmware.write(NAME, told)
        end_s = self.now_s() + SHOWN_S
        while self.now_s() < end_s:
            self.sleep(LOOK_EVERY_S)
            if has_owner(self.people):
                self._forget()
                self._show("This device has an owner now.\n")
                return
        self._show(_LATE)

    def _say_why_not(self) -> None:
        """Show no code; the one on the card counts again in the next start."""
        if not has_owner(self.people):
            told = _UNKEPT.format(why=self.unkept)
            self._show(told)
            _log.warning("%s", told.strip())

    def _forget(self) -> None:
        (self.state / REMEMBERED).unlink(missing_ok=True)
        with contextlib.suppress(BarnacleError, OSError):
            self.firmware.remove(NAME)

    def _remembered(self) -> str:
        with contextlib.suppress(OSError, ValueError):
            code = (self.state / REMEMBERED).read_text("ascii").strip()
            return code if CODE.fullmatch(code) else ""
        return ""

    def _show(self, text: str) -> None:
        for screen in self.screens:
            with contextlib.suppress(OSError):
                _write_on(screen, text)


def has_owner(people: Path) -> bool:
    """Return true if there is an owner; the file is another user's and is not trusted."""
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(people, flags), "rb") as file:
            tables = json.loads(file.read(_MAX_PEOPLE_BYTES))
        rows = tables.get("people", {}).values()
        return any(row.get("role") == "owner" for row in rows)
    except (OSError, ValueError, AttributeError):
        return False


def _write_on(screen: Path, text: str) -> None:
    if screen.is_char_device():
        # A screen stands below what the start has said; a terminal's lines end with both
        said = f"\r\n{text}\r\n".replace("\n", "\r\n").encode()
        handle = os.open(screen, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.write(handle, said)
        finally:
            os.close(handle)
    else:
        screen.parent.mkdir(parents=True, exist_ok=True)
        screen.parent.chmod(0o755)
        write_atomic(screen, f"{text}\n".encode())
        screen.chmod(0o644)
