"""Input and output of a program in a sandbox, within limits."""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from io import FileIO
from typing import BinaryIO

from msgspec import Struct, field

from agent.security.sandbox.base import SandboxOutcome

# What is killed goes at once; a card that hangs may hold it up
END_TIMEOUT_S = 10.0
_PIECE_BYTES = 64 * 1024
_SEALS = fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL


class Captured(Struct):
    """One stream, up to its limit.

    Args:
        too_much: called when there is more than may be kept; the rest is read and lost.
        heard: called with each piece that is kept.
    """

    limit_bytes: int
    too_much: Callable[[], None]
    data: bytearray = field(default_factory=bytearray)
    truncated: bool = False
    heard: Callable[[bytes], None] | None = None

    async def read(self, pipe: FileIO) -> None:
        """Read until the end, then close the pipe."""
        stream = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), pipe
        )
        try:
            while piece := await stream.read(_PIECE_BYTES):
                self._keep(piece)
        finally:
            transport.close()

    def _keep(self, piece: bytes) -> None:
        room = self.limit_bytes - len(self.data)
        kept = piece[:room]
        self.data += kept
        if kept and self.heard is not None:
            self.heard(kept)
        if len(piece) > room and not self.truncated:
            self.truncated = True
            self.too_much()


def pipe() -> tuple[FileIO, FileIO]:
    """Return the reading and the writing end of a pipe."""
    reading, writing = os.pipe()
    return FileIO(reading, "r"), FileIO(writing, "w")


def outcome_of(
    status: int | None,
    out: Captured,
    err: Captured,
    late_s: float | None = None,
    overrun: str = "",
) -> SandboxOutcome:
    """Return the outcome of a program; `late_s` is the time after which it was ended."""
    truncated = out.truncated or err.truncated
    ended = "it printed too much" if truncated else ""
    ended = overrun or ended
    if late_s is not None:
        ended = f"it took longer than {late_s:g} s"
    return SandboxOutcome(
        None if ended else status, bytes(out.data), bytes(err.data), truncated, ended
    )


@contextlib.contextmanager
def opened(given: bytes | BinaryIO) -> Iterator[int]:
    """Yield a descriptor with the input; a hostile program cannot change the bytes."""
    if not isinstance(given, bytes):
        # A socket has no beginning to go back to
        if given.seekable():
            given.seek(0)
        yield given.fileno()
        return
    handle = _sealed(given) if given else os.open(os.devnull, os.O_RDONLY)
    try:
        yield handle
    finally:
        os.close(handle)


def _sealed(given: bytes) -> int:
    """Return a sealed file in memory that nobody can make longer."""
    handle = os.memfd_create("given", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    left = memoryview(given)
    while left:
        left = left[os.write(handle, left) :]
    fcntl.fcntl(handle, fcntl.F_ADD_SEALS, _SEALS)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle
