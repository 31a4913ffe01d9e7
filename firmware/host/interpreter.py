"""Finds a MicroPython for this computer that is new enough."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from agent.blank.board_state import OLDEST

REPOSITORY = Path(__file__).resolve().parents[2]
PRIVATE = REPOSITORY / ".barnacle" / "micropython" / "micropython"
# It answers in milliseconds; a busy machine may need longer
VERSION_TIMEOUT_S = 10.0

HOW_TO_GET_ONE = (
    "scripts/micropython makes a private one; or install the package micropython (1.24 or newer)"
    " or set BARNACLE_MICROPYTHON to a command"
)

# What MicroPython's .mpy files call the processors of computers that have native code
_ARCHITECTURES = {1: "x86", 2: "x64", 5: "armv7m", 6: "armv7em", 7: "armv7emsp", 8: "armv7emdp"}
_ASK_ARCHITECTURE = "import sys; print(sys.implementation._mpy >> 10 & 15)"
_ASK_LARGEST = "import sys; print(sys.maxsize)"
_LARGEST_IN_32_BITS = (1 << 31) - 1


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
    # The private one first: where the processor can, its words are as long as a board's
    for program in [str(PRIVATE), *([installed] if installed else [])]:
        if version([program]) >= OLDEST:
            return [program]
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


def has_words_of_32_bits(command: list[str]) -> bool:
    """Return True when its objects have the size that they have on a board."""
    return _number(command, _ASK_LARGEST) <= _LARGEST_IN_32_BITS


def architecture(command: list[str]) -> str:
    """Return the name of the processor for the compiler.

    Raises:
        NoInterpreter: it has no native code.
    """
    known = _ARCHITECTURES.get(_number(command, _ASK_ARCHITECTURE))
    if known is None:
        raise NoInterpreter("MicroPython has no native code for the processor of this computer")
    return known


def _number(command: list[str], program: str) -> int:
    """Return the number that the program prints."""
    said = subprocess.run(  # noqa: S603  - the person's own interpreter
        [*command, "-c", program],
        capture_output=True,
        text=True,
        timeout=VERSION_TIMEOUT_S,
        check=True,
    )
    return int(said.stdout)
