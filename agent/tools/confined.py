"""Work on hostile text in a program of its own, apart from everything and within limits.

A pattern that explodes or a page that is made to break its reader ends that program, not this
one; it gets nothing but its input, and no environment.
"""

from collections.abc import Sequence

from agent.errors import BarnacleError
from agent.security.reading import Reading, read_apart
from agent.security.sandbox import Sandbox

# Broken markup can cost the square of its length, and a pattern can explode; others take a fraction
PROCESSOR_S = 10.0
# What a program may answer; a model is shown less
MAX_OUTPUT_BYTES = 2 * 1024 * 1024


class Overstrained(BarnacleError):
    """The program was ended: it took too much time, memory or output."""


class Objected(BarnacleError):
    """The program says what is wrong with its input."""


# The exit status with which a program objects
OBJECTION = 3


async def output_of(
    program: str,
    arguments: Sequence[str],
    given: bytes,
    timeout_s: float,
    sandbox: Sandbox | None = None,
) -> bytes:
    """What a Python file prints about `given`.

    Raises:
        Objected: in the program's words.
        Overstrained: it was too much for its limits.
        SandboxBroken: it was not run.
    """
    reading = Reading(
        program, arguments, given, timeout_s, PROCESSOR_S, stream_bytes=MAX_OUTPUT_BYTES
    )
    done = await read_apart(reading, sandbox)
    if done.ended and not done.truncated:
        raise Overstrained(done.ended)
    if done.exit == OBJECTION:
        raise Objected(done.stdout.decode(errors="replace"))
    if done.exit != 0:
        raise Overstrained("it took more time or memory than it may")
    return done.stdout
