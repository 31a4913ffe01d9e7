"""Checks the firmware without a board: types against the STM32 stubs, then mpy-cross."""

import argparse
import subprocess
import sys
from pathlib import Path

from firmware.host.bundle import FIRMWARE, REPOSITORY, board_names, bundle, lay_out
from firmware.host.compiler import ARCHITECTURE, CompileFailed, compiled

TYPINGS = REPOSITORY / ".venv" / "typings"
PLACE = REPOSITORY / ".barnacle" / "firmware"
# The types of all boards are alike; this one stands for them
TYPED_BOARD = "nucleo_f411re"


def main() -> int:
    argparse.ArgumentParser(prog="check-firmware", description=__doc__).parse_args()
    if not TYPINGS.is_dir():
        _say(f"check-firmware: no stubs at {TYPINGS}: run scripts/setup --dev")
        return 1
    results = [_board_types(), _host_types()]
    results += [_compiles(board) for board in board_names()]
    return 0 if all(results) else 1


def _board_types() -> bool:
    """Check the types of the board's code: own configuration, same folders as on the board."""
    files = bundle(TYPED_BOARD)
    lay_out(files, PLACE)
    arguments = ["--config-file", str(FIRMWARE / "mypy.ini"), *(file.target for file in files)]
    return _passes("types on the board", PLACE, arguments)


def _host_types() -> bool:
    arguments = ["--namespace-packages", "--explicit-package-bases", "firmware/host"]
    return _passes("types on the host", REPOSITORY, arguments)


def _passes(name: str, folder: Path, arguments: list[str]) -> bool:
    done = subprocess.run(  # noqa: S603  - mypy of this environment, our own files
        [sys.executable, "-m", "mypy", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    _say(f"{name}: {'ok' if done.returncode == 0 else 'FAILED'}")
    if done.returncode != 0:
        _say(done.stdout + done.stderr)
    return done.returncode == 0


def _compiles(board: str) -> bool:
    try:
        size = sum(len(compiled(file)) for file in bundle(board))
    except CompileFailed as err:
        _say(f"{board}: {err}")
        return False
    _say(f"{board}: compiles for {ARCHITECTURE}, {size} bytes")
    return True


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
