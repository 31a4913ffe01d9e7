"""Brings a board to MicroPython's prompt, whatever runs on it."""

import time
from collections.abc import Callable

import serial

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


class NoPrompt(Exception):
    """The board did not come to its prompt; the text says what to try."""


def reach(port: str, hint: Callable[[str], None], limit_s: float = LIMIT_S) -> None:
    """Call until the prompt is there; `hint` is told when a person must press reset.

    Raises:
        NoPrompt: it never came.
    """
    began_s = time.monotonic()
    hinted = False
    while time.monotonic() - began_s < limit_s:
        if _answers(port):
            return
        if not hinted and time.monotonic() - began_s > HINT_AFTER_S:
            hint("Press the board's reset button (NRST, RESET or the black one) once.")
            hinted = True
    raise NoPrompt(
        f"no MicroPython prompt at {port}. Is MicroPython on the board at all? "
        "firmware/README.md says how to put it there."
    )


def _answers(port: str) -> bool:
    # A reset takes a USB board's port away for a moment: that is no failure
    try:
        with serial.Serial(port, BAUDRATE, timeout=CALL_EVERY_S, write_timeout=1) as line:
            line.write(CALL)
            heard: bytes = line.read_until(PROMPT)
            return heard.endswith(PROMPT)
    except OSError:
        time.sleep(CALL_EVERY_S)
        return False
