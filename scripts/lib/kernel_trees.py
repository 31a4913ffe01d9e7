"""Puts the device trees and the list of modules of the card's kernel into a folder; no root needed.

Only tests use them: they say what each Pi has, by somebody who never saw our configuration.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from image.lib import recipe
from scripts.lib import debian

# It depends on the newest kernel's trees, and on its modules
_PACKAGE = "linux-modules-arm64"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(f"Usage: scripts/lib kernel_trees FOLDER\n\n{__doc__}", file=sys.stderr)
        return 2
    try:
        _unpack(Path(arguments[0]).resolve())
    except (debian.ArchiveUnusable, subprocess.SubprocessError, OSError) as failure:
        print(f"kernel's trees: {failure}", file=sys.stderr)
        return 1
    return 0


def _unpack(folder: Path) -> None:
    """Leave the kernel's folder of usr/lib/modules there, its modules as empty files."""
    work = folder.with_name(f"{folder.name}.work")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    debian.unpack(
        _PACKAGE, f"{recipe.RELEASE} {recipe.BACKPORTS}", work / "root", work / "apt", "arm64"
    )
    [kernel] = (work / "root/usr/lib/modules").iterdir()
    for module in kernel.rglob("*.ko*"):
        module.write_bytes(b"")
    for others in (kernel / "dtb").iterdir():
        if others.name != "broadcom":
            shutil.rmtree(others)
    shutil.rmtree(folder, ignore_errors=True)
    kernel.rename(folder)
    shutil.rmtree(work)
