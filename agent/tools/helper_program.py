"""Work on hostile text in a separate process with limits.

A pattern that explodes or a page that is made to break its reader ends that program, not this
one; it gets nothing but its input, and no environment.
"""

from collections.abc import Sequence

from agent.errors import BarnacleError
from agent.security.reader import ReaderRun, read_apart
from agent.security.sandbox.base import Sandbox

# Broken markup can cost the square of its length, and a pattern can explode; others take a fraction
PROCESSOR_S = 10.0
# What a program may answer; a model is shown less
MAX_OUTPUT_BYTES = 2 * 1024 * 1024


class LimitsExceeded(BarnacleError):
    """The program was stopped because it used too much time, memory or output."""


class InputRejected(BarnacleError):
    """The program rejected its input; the text says why."""


# The exit status with which a program objects
OBJECTION = 3


async def output_of(
    program: str,
    arguments: Sequence[str],
    given: bytes,
    timeout_s: float,
    sandbox: Sandbox | None = None,
) -> bytes:
    """Return the output of a Python file for the given input.

    Raises:
        Objected: in the program's words.
        Overstrained: it was too much for its limits.
        SandboxBroken: it was not run.
    """
    reading = ReaderRun(
        program, arguments, given, timeout_s, PROCESSOR_S, stream_bytes=MAX_OUTPUT_BYTES
    )
    done = await read_apart(reading, sandbox)
    if done.ended and not done.truncated:
        raise LimitsExceeded(done.ended)
    if done.exit == OBJECTION:
        raise InputRejected(done.stdout.decode(errors="replace"))
    if done.exit != 0:
        raise LimitsExceeded("it exceeded its limit of time or memory")
    return done.stdout
