"""Brings a board to MicroPython's prompt, whatever runs on it."""

import termios
import time
from collections.abc import Callable

import serial

from agent.link.port import why_not

BAUDRATE = 115200
# The same words as in firmware/boot.py
KNOCK = b"barnacle: stay at the prompt\r"
# Ctrl-C stops what is no firmware of ours; the knock is heard only right after a reset
CALL = b"\r\x03" + KNOCK + b"\r"
PROMPT = b">>> "
# Time enough to find the button
LIMIT_S = 60.0
# Several fall into the window that boot.py leaves
CALL_EVERY_S = 0.15
# A board that is at its prompt answers within a round trip
HINT_AFTER_S = 1.5
_HINT = "Press the board's reset button (NRST, RESET or the black one) once."
_NOBODY = "Is MicroPython on the board at all? firmware/README.md says how to put it there."


class NoPrompt(Exception):
    """The board did not come to its prompt; the text says what to try."""


def reach(port: str, hint: Callable[[str], None], limit_s: float = LIMIT_S) -> None:
    """Call until the prompt is there; `hint` is told what a person must do for it.

    Raises:
        NoPrompt: it never came.
    """
    began_s = time.monotonic()
    hinted: set[str] = set()
    trouble: str | None = ""
    while time.monotonic() - began_s < limit_s:
        trouble = _trouble(port)
        if trouble is None:
            return
        if time.monotonic() - began_s > HINT_AFTER_S and (todo := trouble or _HINT) not in hinted:
            hint(todo)
            hinted.add(todo)
    raise NoPrompt(f"no MicroPython prompt at {port}: {trouble or _NOBODY}")


def _trouble(port: str) -> str | None:
    """Call once; return None at the prompt, else why the port cannot be opened, if it cannot."""
    try:
        line = serial.Serial(port, BAUDRATE, timeout=CALL_EVERY_S, write_timeout=1, exclusive=True)
    except OSError as err:
        time.sleep(CALL_EVERY_S)
        return why_not(port, err)
    except termios.error:
        # Gone between two calls of the library's
        return ""
    # A reset takes a USB board's port away for a moment: that is no failure
    try:
        with line:
            line.write(CALL)
            heard: bytes = line.read_until(PROMPT)
    except (OSError, termios.error):
        time.sleep(CALL_EVERY_S)
        return ""
    return None if heard.endswith(PROMPT) else ""
