"""Finds a MicroPython for this computer that is new enough."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PRIVATE = REPOSITORY / ".barnacle" / "micropython" / "micropython"
OLDEST = (1, 24)
# It answers in milliseconds; a busy machine may need longer
VERSION_TIMEOUT_S = 10.0

HOW_TO_GET_ONE = (
    "scripts/micropython makes a private one; or install the package micropython (1.24 or newer)"
    " or set BARNACLE_MICROPYTHON to a command"
)


class NoInterpreter(Exception):
    """There is no usable MicroPython; the text says what to do."""


def find() -> list[str]:
    """The command that starts it.

    Raises:
        NoInterpreter: none was found, or the one that was asked for is not usable.
    """
    named = os.environ.get("BARNACLE_MICROPYTHON")
    if named:
        command = shlex.split(named)
        if version(command) < OLDEST:
            raise NoInterpreter(f"BARNACLE_MICROPYTHON={named} is no MicroPython 1.24 or newer")
        return command
    installed = shutil.which("micropython")
    for command in [[installed]] if installed else []:
        if version(command) >= OLDEST:
            return command
    if version([str(PRIVATE)]) >= OLDEST:
        return [str(PRIVATE)]
    raise NoInterpreter(f"no MicroPython found: {HOW_TO_GET_ONE}")


def version(command: list[str]) -> tuple[int, int]:
    """Its version, or (0, 0) when it does not answer like MicroPython."""
    asked = [*command, "-c", "import sys; print(sys.implementation)"]
    try:
        said = subprocess.run(  # noqa: S603  - the person's own command
            asked, capture_output=True, text=True, timeout=VERSION_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return (0, 0)
    found = re.search(r"name='micropython', version=\((\d+), (\d+)", said.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)
