"""The firmware as sources that a build of MicroPython freezes in, and the manifest for it.

Frozen code stays in flash. What the board keeps for itself, its configuration, stays in files.
"""

from pathlib import Path

from firmware.host.bundle import BundledFile, bundle, lay_out

MANIFEST = "manifest.py"


def sources(name: str) -> list[BundledFile]:
    """Return the files to freeze for that board."""
    return bundle(name, is_frozen=True)


def write(name: str, folder: Path) -> Path:
    """Write the sources and their manifest; return its path.

    Raises:
        FileExistsError: something else is in that folder.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / MANIFEST).exists():
        raise FileExistsError(f"{folder} is not empty: name a new folder")
    files = sources(name)
    lay_out(files, folder)
    path = folder / MANIFEST
    path.write_text(_manifest(files), encoding="utf-8")
    return path


def _manifest(files: list[BundledFile]) -> str:
    tops = [file.target for file in files if "/" not in file.target]
    lines = [
        "# Made by scripts/flash --freeze. The board's own modules of MicroPython come first.",
        'include("$(PORT_DIR)/boards/manifest.py")',
        *(f'module("{name}", opt=3)' for name in tops),
        'package("node", opt=3)',
    ]
    return "\n".join(lines) + "\n"
