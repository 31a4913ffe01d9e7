"""Puts a MicroPython that runs on this machine into a folder, as one executable file.

In this order: the command in $BARNACLE_MICROPYTHON, Debian's package for words of 32 bits (those of
a board) where this processor runs it, a `micropython` on the PATH that is new enough, Debian's
package for this machine. Needs no root.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.lib import debian

_PACKAGE = "micropython"
_OLDEST = (1, 24)
# Debian's name of the architecture with words of 32 bits that the same processor may run
_NARROW = {"amd64": "i386", "arm64": "armhf"}
# The first Debian that has the package in a version we want, and its number
_SUITE, _SUITE_NUMBER = "trixie", 13
# The interpreter prints one line; more than this is a hang
_ANSWER_TIMEOUT_S = 20
_OFFER = "Set BARNACLE_MICROPYTHON to a MicroPython 1.24 or newer (unix port) and try again."


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0] in {"-h", "--help"}:
        print("Usage: scripts/micropython FOLDER", (__doc__ or "").strip(), sep="\n\n")
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    folder = Path(arguments[0]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        version = _install(folder)
    except (debian.ArchiveUnusable, subprocess.CalledProcessError, OSError) as failure:
        print(f"micropython: {failure}\nmicropython: {_OFFER}", file=sys.stderr)
        return 1
    print(f"micropython: {folder / _PACKAGE} is {'.'.join(map(str, version))}")
    return 0


def _install(folder: Path) -> tuple[int, ...]:
    wrapper = folder / _PACKAGE
    wrapper.unlink(missing_ok=True)
    if chosen := os.environ.get("BARNACLE_MICROPYTHON"):
        command = shlex.split(chosen)
        version = _version_of(command)
        if version < _OLDEST:
            raise OSError(f"BARNACLE_MICROPYTHON={chosen} is no MicroPython 1.24 or newer")
        _write_wrapper(wrapper, shlex.join(command))
        return version
    if version := _install_narrow(folder, wrapper):
        return version
    on_path = shutil.which(_PACKAGE)
    if on_path and _version_of([on_path]) >= _OLDEST:
        _write_wrapper(wrapper, shlex.quote(on_path))
    else:
        _unpack_debian(folder)
        _write_wrapper(wrapper, _through_own_loader(folder))
    version = _version_of([str(wrapper)])
    if version < _OLDEST:
        wrapper.unlink()
        raise OSError(f"what was unpacked into {folder} does not run here")
    return version


def _install_narrow(folder: Path, wrapper: Path) -> tuple[int, ...]:
    """Install the package with words of 32 bits; return its version, empty when it does not run."""
    try:
        architecture = _NARROW.get(debian.own_architecture())
        if architecture is None:
            return ()
        _unpack_debian(folder, architecture)
        _write_wrapper(wrapper, _through_own_loader(folder))
    except (debian.ArchiveUnusable, subprocess.CalledProcessError, OSError) as failure:
        print(f"micropython: no build with words of 32 bits: {failure}", file=sys.stderr)
        return ()
    version = _version_of([str(wrapper)])
    return version if version >= _OLDEST else ()


def _version_of(command: Sequence[str]) -> tuple[int, ...]:
    """Return the interpreter's version; empty if it is none or does not run."""
    program = "import sys\nif sys.implementation.name == 'micropython':"
    program += " print(*sys.implementation.version[:3])"
    try:
        answer = subprocess.run(
            [*command, "-c", program], capture_output=True, timeout=_ANSWER_TIMEOUT_S, check=True
        )
        return tuple(int(number) for number in answer.stdout.split())
    except (OSError, subprocess.SubprocessError, ValueError):
        return ()


def _unpack_debian(folder: Path, architecture: str = "") -> None:
    fresh, root = folder / "root.new", folder / "root"
    shutil.rmtree(fresh, ignore_errors=True)
    suite = _suite(Path("/etc/os-release"))
    debian.unpack(_PACKAGE, suite, fresh, folder / "apt", architecture)
    for unused in (fresh / "usr/share", fresh / "etc", *fresh.rglob("gconv")):
        shutil.rmtree(unused, ignore_errors=True)
    shutil.rmtree(root, ignore_errors=True)
    fresh.rename(root)


def _suite(os_release: Path) -> str:
    """The machine's own Debian when it has the package, else the first that has it."""
    text = os_release.read_text(errors="replace") if os_release.exists() else ""
    # The format is the shell's: NAME="value"
    facts = dict(word.partition("=")[::2] for word in shlex.split(text, comments=True))
    number, codename = facts.get("VERSION_ID", ""), facts.get("VERSION_CODENAME", "")
    if facts.get("ID") in {"debian", "raspbian"} and number.isdigit() and codename:
        return codename if int(number) > _SUITE_NUMBER else _SUITE
    return _SUITE


def _through_own_loader(folder: Path) -> str:
    """The program with its own C library: the machine's may be older."""
    root = folder / "root"
    loader = next((path for path in root.rglob("ld-linux*.so.*") if not path.is_symlink()), None)
    if loader is None:
        raise OSError(f"no dynamic loader in {root}")
    here = '"$here"'
    libraries = sorted({path.parent for path in root.rglob("lib*.so*")})
    paths = ":".join(f"{here}/{shlex.quote(str(path.relative_to(folder)))}" for path in libraries)
    return (
        f"{here}/{shlex.quote(str(loader.relative_to(folder)))} --library-path {paths} "
        f"{here}/root/usr/bin/{_PACKAGE}"
    )


def _write_wrapper(wrapper: Path, command: str) -> None:
    wrapper.write_text(
        f'#!/bin/sh\nhere=$(cd -- "$(dirname -- "$0")" && pwd -P)\nexec {command} "$@"\n'
    )
    wrapper.chmod(0o755)
