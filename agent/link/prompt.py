"""MicroPython's prompt at a serial port: a board is brought to it, and a program run there.

A board that runs our firmware listens for the words only right after a reset: whoever has it in
hand is asked to press the button. Programs are pasted in pieces that are each waited for, because
the console of a board holds few bytes.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

from agent.errors import LinkLost
from agent.link.port import Port

# The same words as in firmware/boot.py
KNOCK = b"barnacle: stay at the prompt\r"
# Ctrl-C stops what is no firmware of ours
_CALL = b"\r\x03" + KNOCK + b"\r"
_PROMPT = b">>> "
_PASTE, _RUN = b"\x05", b"\x04"
_PASTED = b"=== "
# Several fall into the window that boot.py leaves
_CALL_EVERY_S = 0.15
_HINT_AFTER_S = 1.5
# Time enough to find the button
REACH_LIMIT_S = 60.0
# The console of a Nucleo holds 259 bytes
_PIECE_BYTES = 64
_ECHO_LIMIT_S = 5.0
_RUN_LIMIT_S = 30.0
_HINT = "Press the board's reset button (NRST, RESET or the black one) once."
_AGENT = Path(__file__).parents[1]


def prompt_program(name: str) -> str:
    """Return a program of `firmware/prompt`: an installation carries it, a checkout has it.

    Raises:
        LinkLost: this one does not.
    """
    for root in (_AGENT, _AGENT.parent):
        if (path := root / "firmware" / "prompt" / name).is_file():
            return path.read_text()
    raise LinkLost(f"this installation lacks firmware/prompt/{name}")


class Prompt:
    """MicroPython's prompt behind a port, which must be open and not started."""

    def __init__(self, port: Port) -> None:
        self._port = port
        self._heard = bytearray()
        self._is_new = asyncio.Event()
        self._trouble = ""
        port.start(self._take, self._lose)

    async def reach(self, hint: Callable[[str], None], limit_s: float = REACH_LIMIT_S) -> None:
        """Call until the prompt is there; `hint` is told when a person must press reset.

        Raises:
            LinkLost: it never came.
        """
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        is_hinted = False
        while loop.time() - began_s < limit_s:
            self._heard.clear()
            self._port.write(_CALL)
            if await self._ends_with(_PROMPT, _CALL_EVERY_S):
                # Whatever is still answered to the calls has come
                while await self._hears(_CALL_EVERY_S):
                    self._heard.clear()
                return
            if not is_hinted and loop.time() - began_s > _HINT_AFTER_S:
                is_hinted = True
                hint(_HINT)
        raise LinkLost(f"no MicroPython prompt at {self._port.path}: is MicroPython on the board?")

    async def run(self, program: str) -> str:
        """Return what the program prints.

        Raises:
            LinkLost: the board stopped answering.
        """
        await self.start(program)
        if not await self._ends_with(_PROMPT, _RUN_LIMIT_S):
            raise self._silence()
        return bytes(self._heard).removesuffix(_PROMPT).decode(errors="replace")

    async def start(self, program: str) -> None:
        """Let the program run; nothing that it prints is waited for.

        Raises:
            LinkLost: the board stopped answering.
        """
        await self._said(_PASTE, _PASTED)
        text = program.encode().replace(b"\r\n", b"\n").replace(b"\n", b"\r")
        for at in range(0, len(text), _PIECE_BYTES):
            piece = text[at : at + _PIECE_BYTES]
            # The end of a line is answered with the beginning of the next
            await self._said(piece, piece.rpartition(b"\r")[2] or _PASTED)
        self._heard.clear()
        self._port.write(_RUN)
        # A new line: what was sent has arrived, and the port may be closed
        if not await self._hears(_ECHO_LIMIT_S):
            raise self._silence()

    async def _said(self, data: bytes, answer: bytes) -> None:
        self._heard.clear()
        self._port.write(data)
        if not await self._ends_with(answer, _ECHO_LIMIT_S):
            raise self._silence()

    async def _ends_with(self, end: bytes, limit_s: float) -> bool:
        try:
            async with asyncio.timeout(limit_s):
                while not self._heard.endswith(end):
                    await self._next()
        except TimeoutError:
            return False
        return True

    async def _hears(self, limit_s: float) -> bool:
        try:
            async with asyncio.timeout(limit_s):
                await self._next()
        except TimeoutError:
            return False
        return True

    async def _next(self) -> None:
        if self._trouble:
            raise self._silence()
        self._is_new.clear()
        await self._is_new.wait()

    def _silence(self) -> LinkLost:
        return LinkLost(self._trouble or "the board stopped answering at its prompt")

    def _take(self, data: bytes) -> None:
        self._heard += data
        self._is_new.set()

    def _lose(self, trouble: str) -> None:
        self._trouble = trouble
        self._is_new.set()
