"""A folder for as long as a simulated board runs; those that killed boards have left are removed.

A folder is held by a lock on a file in it, which ends with the process however it ends.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

PREFIX = "barnacle-board-"
_HELD = ".held"


@contextlib.contextmanager
def scratch_folder(place: Path | None = None) -> Iterator[Path]:
    """A fresh folder in `place`, by default where temporary files are; gone at the end."""
    place = place or Path(tempfile.gettempdir())
    remove_abandoned(place)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
    held = os.open(folder / _HELD, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield folder
    finally:
        _remove(folder)
        os.close(held)


def remove_abandoned(place: Path) -> None:
    """Remove what nobody holds any more; what belongs to others stays."""
    for folder in place.glob(f"{PREFIX}*"):
        # Not ours to open, or being made or removed at this moment
        with contextlib.suppress(OSError):
            held = os.open(folder / _HELD, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(folder)
            finally:
                os.close(held)


def _remove(folder: Path) -> None:
    """Remove the folder, its lock last: whoever is killed meanwhile leaves what others remove."""
    for entry in folder.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        elif entry.name != _HELD:
            entry.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
