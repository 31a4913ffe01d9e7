"""Power cuts at every operation of a board's flash, while the firmware's own code writes to it."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from firmware.host import image, interpreter
from firmware.host.bundle import FIRMWARE, bundle, lay_out
from firmware.host.compiler import for_board
from firmware.host.parts import PARTS

ACTIONS = ("commit", "stop", "update")
# Of a board whose firmware is frozen into MicroPython: the third is its first start
FROZEN_ACTIONS = ("commit", "stop", "divide")
# What scripts/flash does first with a board that an older firmware has stopped: in files of
# MicroPython's own file system, and where an older scripts/flash has divided it
FORMATS = ("format", "reformat")
_SIMULATOR = FIRMWARE / "simulator"
# Thousands of cuts, on a slow and busy machine
_LIMIT_S = 900.0


class NotTried(Exception):
    """The trial did not come to its end; the text says why."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """One action of one board, cut at many places.

    Args:
        erases: sectors that the action erases when it is not cut.
        operations: its erases and blocks; each may be cut.
        starts: cuts after which the board starts.
        configuration_old: of those, cuts that leave the configuration before.
        configuration_new: of those, cuts that leave the one after.
        stopped: of those, cuts that leave the emergency stop written down.
    """

    board: str
    action: str
    erases: int
    operations: int
    cuts: int
    starts: int
    configuration_old: int
    configuration_new: int
    stopped: int

    @property
    def configured(self) -> int:
        """Return the cuts that leave a whole configuration."""
        return self.configuration_old + self.configuration_new


def trials(
    board: str, actions: Iterable[str] = ACTIONS, every: int = 1, *, is_frozen: bool = False
) -> list[Cuts]:
    """Cut in every operation, or in each of so many.

    Raises:
        NotTried: the trial failed.
        NoInterpreter: there is no MicroPython.
    """
    with tempfile.TemporaryDirectory(prefix="barnacle-cuts-") as name:
        folder = Path(name)
        if not is_frozen:
            lay_out(image.installed_of(board, for_board(bundle(board))), folder / "installed")
        told = PARTS[board].told(is_frozen=is_frozen)
        (folder / "part.json").write_text(json.dumps(told))
        return [Cuts(board=board, **json.loads(line)) for line in _said(folder, actions, every)]


def _said(folder: Path, actions: Iterable[str], every: int) -> list[str]:
    path = ":".join(map(str, (_SIMULATOR / "cuts", _SIMULATOR, FIRMWARE / "prompt", FIRMWARE)))
    program = _SIMULATOR / "cuts" / "power_cuts.py"
    done = subprocess.run(  # noqa: S603  - our firmware in the person's interpreter
        [*interpreter.find(), str(program), str(folder), str(every), *actions],
        env={**os.environ, "MICROPYPATH": path},
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    if done.returncode:
        raise NotTried(done.stderr.strip()[-500:] or done.stdout[-500:])
    return [line for line in done.stdout.splitlines() if line.startswith("{")]
