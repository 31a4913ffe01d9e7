"""The code that links a Signal account, on the card's screen while it can be scanned."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from agent.channels.signal.linking import SCAN_TIMEOUT_S, checked
from agent.errors import ChannelRefused
from agent.text.qr_lines import qr_lines

# How soon it is gone after it was scanned
LOOK_EVERY_S = 1.0
_CLEAR = "\x1b[2J\x1b[H"
_ASKED = "Scan this code with Signal: Settings, Linked devices, Link a new device."
_OVER = "The code that was here counts no more: the page Channels says what came of it."


class SignalDisplay(Struct, frozen=True):
    """Display of one code.

    Args:
        code: the agent's file with the code, which goes with it.
        screen: a terminal.
    """

    code: Path
    screen: BinaryIO
    sleep: Callable[[float], None] = time.sleep
    now_s: Callable[[], float] = time.monotonic

    def run(self) -> None:
        """Show each code as long as anybody can know it, until its file is gone.

        Not before: systemd starts this as often as it finds the file, and soon gives up.
        """
        end_s, known, shown = 0.0, "", ""
        try:
            while self.code.exists():
                if (uri := self._uri()) != known:
                    end_s, known = self.now_s() + SCAN_TIMEOUT_S, uri
                good = known if self.now_s() < end_s else ""
                if good != shown:
                    shown = good
                    self._write([*qr_lines(good), "", _ASKED] if good else [_OVER])
                self.sleep(LOOK_EVERY_S)
        finally:
            if shown:
                self._write([_OVER])

    def _uri(self) -> str:
        """Return the code; empty where there is none, or something else than one."""
        with contextlib.suppress(OSError, ValueError, ChannelRefused):
            return checked(self.code.read_text("ascii"))
        return ""

    def _write(self, lines: list[str]) -> None:
        # What stood there before may hide a part of it; a terminal's lines end with both
        self.screen.write((_CLEAR + "\r\n".join(lines) + "\r\n").encode())
        self.screen.flush()
