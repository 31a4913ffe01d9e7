"""A copy of the project's tree in a temporary folder: weakened there, never here."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from scripts.lib.places import ROOT

# Made once and only read: what the tests start beside Python
_MADE = ".barnacle"


class Tree:
    """One copy; whoever has it runs tests in it one after another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *words: str, limit_s: float) -> tuple[int | None, str]:
        """Python with these arguments: its status and what it said; None where it took too long."""
        environment = {**os.environ, "PYTHONPATH": str(self.folder)}
        # Compiled once for all trials: compiling is most of what a short one costs
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        process = subprocess.Popen(
            [sys.executable, *words],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # A weakened program may start what outlives it; its whole group is ended
            start_new_session=True,
        )
        try:
            told, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            return None, "it took too long"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 9)
                process.communicate()
        return process.returncode, told

    def put(self, path: Path, source: str) -> None:
        """Write a module, and forget what it was compiled to: both may be of the same second."""
        place = self.folder / path
        place.write_text(source)
        for compiled in (place.parent / "__pycache__").glob(f"{place.stem}.*.pyc"):
            compiled.unlink()


@contextmanager
def copied() -> Iterator[Tree]:
    """A copy of what is tracked, and of what is not ignored."""
    with tempfile.TemporaryDirectory(prefix="barnacle-mutate-") as made:
        folder = Path(made)
        for path in _files():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, folder / path, follow_symlinks=False)
        (folder / _MADE).symlink_to(ROOT / _MADE)
        yield Tree(folder)


def _files() -> Iterable[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for path in listed.stdout.split("\0") if path and (ROOT / path).exists()]
