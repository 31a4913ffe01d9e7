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
# Then no more of a name comes: who types waits for the echo of each letter
_REST_S = 0.02


def _relay(near: int, far: int, end: int, named: "_Named") -> None:
    """Pass on what arrives at either terminal, until something is said at the end."""
    while True:
        ready, _, _ = select.select([near, far, end], [], [], _REST_S)
        if end in ready:
            return
        if near in ready:
            os.write(far, os.read(near, _PIECE_BYTES))
        if far in ready:
            os.write(near, named.told(os.read(far, _PIECE_BYTES)))
        elif not ready:
            os.write(near, named.rest())


class _Named:
    """What a board says, with another name for itself than the interpreter has."""

    def __init__(self, machine: str) -> None:
        asked = "import sys; print(sys.implementation._machine)"
        self._own = subprocess.check_output([*interpreter.find(), "-c", asked]).strip()
        self._machine = machine.encode() or self._own
        self._rest = b""

    def rest(self) -> bytes:
        """Return what was no beginning of the name after all."""
        rest, self._rest = self._rest, b""
        return rest

    def told(self, piece: bytes) -> bytes:
        said = (self._rest + piece).replace(self._own, self._machine)
        # A name may come in two pieces
        begun = (
            size for size in range(len(self._own) - 1, 0, -1) if said.endswith(self._own[:size])
        )
        kept = next(begun, 0)
        self._rest = said[len(said) - kept :]
        return said[: len(said) - kept]


@contextmanager
def prompt_board(flash: Path | None = None, machine: str = "") -> Iterator[str]:
    """The path of its serial port.

    Args:
        flash: the folder that its files lie in.
        machine: what it calls itself; empty for what the interpreter does.
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
        env={"MICROPYPATH": f"{_STAND_INS}:{_STAND_INS.parent}", "TERM": "dumb"},
        cwd=flash,
    )
    relay = threading.Thread(target=_relay, args=(near, far, ended, _Named(machine)))
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
