"""Puts llama.cpp's server and its command into a folder: Debian's package, no root needed.

Only tests use them: the wire, the grammar and the limits of a real server, and a program that
answers as a model. The model there is random numbers.
"""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from scripts.lib import debian

PROGRAMS = ("llama-server", "llama-completion")
_PACKAGE = "llama.cpp-tools"
# The first of these suites that has it: it came after Debian 13
_SUITES = ("trixie", "forky", "sid")
# It tells its version at once; more than this is a hang
_ANSWER_TIMEOUT_S = 20


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(f"Usage: scripts/lib llama_server FOLDER\n\n{__doc__}", file=sys.stderr)
        return 2
    folder = Path(arguments[0]).resolve()
    try:
        _install(folder)
    except (debian.ArchiveUnusable, subprocess.SubprocessError, OSError) as failure:
        print(f"llama-server: {failure}", file=sys.stderr)
        return 1
    return 0


def _install(folder: Path) -> None:
    root = folder / "root"
    folder.mkdir(parents=True, exist_ok=True)
    failures = []
    for suite in _SUITES:
        shutil.rmtree(root, ignore_errors=True)
        try:
            debian.unpack(_PACKAGE, suite, root, folder / "apt")
        except debian.ArchiveUnusable as failure:
            failures.append(str(failure))
            continue
        for name in PROGRAMS:
            _write_wrapper(folder / name, root)
        return
    raise debian.ArchiveUnusable("; ".join(failures))


def _write_wrapper(wrapper: Path, root: Path) -> None:
    """Start it with its own C library, in the folder where it looks for its arithmetic."""
    loader = next(root.rglob("ld-linux*.so*"))
    program = root / "usr/bin" / wrapper.name
    backends = next(root.glob("usr/lib/*/ggml/backends*"))
    libraries = backends.parents[1]
    paths = f"{libraries}:{libraries}/llama"
    command = shlex.join([str(loader), "--library-path", paths, str(program)])
    wrapper.write_text(f'#!/bin/sh\ncd {shlex.quote(str(backends))} && exec {command} "$@"\n')
    wrapper.chmod(0o755)
    subprocess.run(
        [wrapper, "--version"], check=True, capture_output=True, timeout=_ANSWER_TIMEOUT_S
    )
