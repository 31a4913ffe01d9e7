"""A board at MicroPython's prompt: the real interpreter and its real prompt, on a serial port."""

import os
import pty
import select
import subprocess
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from firmware.host import interpreter
from firmware.host.bundle import FIRMWARE

# A NUCLEO-F411RE under MicroPython's stm32 port
_STAND_INS = FIRMWARE / "simulator" / "prompt"
_PIECE_BYTES = 256


def _relay(one: int, other: int, end: int) -> None:
    """Pass on what arrives at either terminal, until something is said at the end."""
    while True:
        ready, _, _ = select.select([one, other, end], [], [])
        if end in ready:
            return
        for handle in ready:
            os.write(other if handle == one else one, os.read(handle, _PIECE_BYTES))


@contextmanager
def prompt_board(flash: Path | None = None) -> Iterator[str]:
    """The path of its serial port.

    Args:
        flash: the folder that its files lie in.
    """
    near, computer = pty.openpty()
    far, console = pty.openpty()
    ended, end = os.pipe()
    tty.setraw(computer)
    tty.setraw(console)
    process = subprocess.Popen(
        interpreter.find(),
        stdin=console,
        stdout=console,
        stderr=console,
        env={"MICROPYPATH": str(_STAND_INS), "TERM": "dumb"},
        cwd=flash,
    )
    relay = threading.Thread(target=_relay, args=(near, far, ended))
    relay.start()
    try:
        yield os.ttyname(computer)
    finally:
        process.kill()
        process.wait()
        os.write(end, b"!")
        relay.join()
        for handle in (near, computer, far, console, ended, end):
            os.close(handle)
