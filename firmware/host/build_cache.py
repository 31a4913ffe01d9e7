"""Cache of what was built from the firmware's files: to build it anew takes seconds of a start.

A name stands for what it is built of and for what builds it: a change of either is another name.
"""

import contextlib
import hashlib
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from firmware.host.bundle import FIRMWARE, REPOSITORY, BundledFile

FOLDER = REPOSITORY / ".barnacle" / "firmware"
# Every board in each of its ways, some times over; the oldest go
MOST = 128
# A file that was cut short, or is another's
_UNREADABLE = (OSError, EOFError, zipfile.BadZipFile, NotImplementedError, RuntimeError)


def cached(
    way: str, files: list[BundledFile], build: Callable[[list[BundledFile]], list[BundledFile]]
) -> list[BundledFile]:
    """Return what is built from the files, from the cache if it has been built before.

    Args:
        way: how; whatever it depends on besides the files and this folder has to be named here.
    """
    path = FOLDER / f"{_name(way, files)}.zip"
    with contextlib.suppress(*_UNREADABLE):
        return _read(path)
    built = build(files)
    # A folder that cannot be written costs time, no more
    with contextlib.suppress(OSError):
        _write(path, built)
    return built


def _name(way: str, files: list[BundledFile]) -> str:
    digest = hashlib.sha256(_builders())
    parts = [way.encode()]
    for file in files:
        parts += [file.target.encode(), file.content]
    for part in parts:
        digest.update(len(part).to_bytes(4, "big") + part)
    return digest.hexdigest()


@cache
def _builders() -> bytes:
    """Return a sum of the programs that build."""
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted((FIRMWARE / "host").glob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


def _read(path: Path) -> list[BundledFile]:
    with zipfile.ZipFile(path) as archive:
        return [BundledFile(one.filename, archive.read(one)) for one in archive.infolist()]


def _write(path: Path, files: list[BundledFile]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(dir=FOLDER)
    with os.fdopen(number, "wb") as file, zipfile.ZipFile(file, "w") as archive:
        for one in files:
            archive.writestr(one.target, one.content)
    # In one step: others read at the same time
    Path(name).replace(path)
    known = sorted(FOLDER.iterdir(), key=lambda one: one.stat().st_mtime)
    for old in known[:-MOST]:
        old.unlink(missing_ok=True)
