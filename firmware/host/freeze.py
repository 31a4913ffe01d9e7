"""The firmware as sources that a build of MicroPython freezes in, and the manifest for it.

Frozen code stays in flash, of which a part of 512 KB has little left beside MicroPython: the
sources are shrunk like the files of a board that is not frozen.
"""

from pathlib import Path

from firmware.host.bundle import BundledFile, build_number, bundle, lay_out
from firmware.host.compiler import sources_for_board

MANIFEST = "manifest.py"
_FIRST_LINE = "# Made by scripts/flash --freeze. The board's own modules of MicroPython come first."


def sources(name: str) -> list[BundledFile]:
    """Return the files to freeze for that board."""
    return sources_for_board(bundle(name, is_frozen=True))


def build(name: str) -> int:
    """Return the number by which the board greets once they are frozen in."""
    return build_number(bundle(name, is_frozen=True)[:-1])


def write(name: str, folder: Path) -> Path:
    """Write the sources and their manifest; return its path.

    Raises:
        FileExistsError: something else is in that folder.
    """
    if folder.exists() and any(folder.iterdir()) and not _is_ours(folder / MANIFEST):
        raise FileExistsError(f"{folder} is not empty: name a new folder")
    files = sources(name)
    lay_out(files, folder)
    path = folder / MANIFEST
    path.write_text(_manifest(files), encoding="utf-8")
    return path


def _is_ours(manifest: Path) -> bool:
    """Return true for one that was written here: MicroPython's own folders have one, too."""
    return manifest.is_file() and manifest.read_bytes().startswith(_FIRST_LINE.encode())


def _manifest(files: list[BundledFile]) -> str:
    tops = [file.target for file in files if "/" not in file.target]
    lines = [
        _FIRST_LINE,
        'include("$(PORT_DIR)/boards/manifest.py")',
        *(f'module("{name}", opt=3)' for name in tops),
        'package("node", opt=3)',
    ]
    return "\n".join(lines) + "\n"
