"""Work on hostile text in a process of its own, under limits of time, memory and output.

A pattern that explodes or a page that is made to break its reader ends that process, not this
one; it gets nothing but its input, and no environment.
"""

import asyncio
import contextlib
import sys
from collections.abc import Sequence

from agent.errors import BarnacleError

# What a program may answer; a model is shown less
MAX_OUTPUT_BYTES = 2 * 1024 * 1024
# How much of an answer is taken at once
_PIECE_BYTES = 64 * 1024


class Overstrained(BarnacleError):
    """The program was ended: it took too much time, memory or output."""


class Objected(BarnacleError):
    """The program says what is wrong with its input."""


# The exit status with which a program objects
OBJECTION = 3


async def output_of(
    program: str, arguments: Sequence[str], given: bytes, timeout_s: float
) -> bytes:
    """What a Python file prints about `given`.

    Raises:
        Objected: in the program's words.
        Overstrained: it was too much for its limits.
    """
    child = await asyncio.create_subprocess_exec(
        # Isolated, without installed packages: only the standard library is imported
        *(sys.executable, "-I", "-S", program, *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
    )
    try:
        async with asyncio.timeout(timeout_s):
            told = await _talk(child, given)
            status = await child.wait()
    except TimeoutError as err:
        raise Overstrained(f"it took longer than {timeout_s:.0f} s") from err
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    if status == OBJECTION:
        raise Objected(told.decode(errors="replace"))
    if status:
        raise Overstrained("it took more time or memory than it may")
    return told


async def _talk(child: asyncio.subprocess.Process, given: bytes) -> bytes:
    """Write and read at once: either pipe may be full."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_write(child, given))
        reading = tasks.create_task(_read(child))
    return reading.result()


async def _write(child: asyncio.subprocess.Process, given: bytes) -> None:
    if child.stdin is None:  # pragma: no cover - it was asked for
        return
    # It may have seen enough and be gone
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        child.stdin.write(given)
        await child.stdin.drain()
    child.stdin.close()


async def _read(child: asyncio.subprocess.Process) -> bytes:
    told = bytearray()
    while child.stdout is not None and (piece := await child.stdout.read(_PIECE_BYTES)):
        told += piece
        if len(told) > MAX_OUTPUT_BYTES:
            child.kill()
            break
    return bytes(told)
