"""Programs of the system, started with nothing of ours: no secret is in their environment."""

import os
import subprocess
from collections.abc import Sequence


def run_program(
    words: Sequence[str], timeout_s: float, given: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run it to its end, whatever that is; blocks.

    Args:
        words: the program and what it is told, ours and no person's.
        given: on its standard input.

    Raises:
        OSError: it is not there.
        subprocess.TimeoutExpired: it was killed after so long.
    """
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
    return subprocess.run(  # noqa: S603 - words of ours, see above
        words, input=given, capture_output=True, check=False, timeout=timeout_s, env=environment
    )
