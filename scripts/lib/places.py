"""Files of an installed agent and their places: one list, for the card and for other systems.

Paths are relative to the root of the system that is installed into.
"""

import shutil
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SYSTEMD = ROOT / "systemd"
# The units name it
PREFIX = Path("opt/barnacle")
# Where there may be several, one beside the other; PREFIX is a link to one of them
VERSIONS = Path("opt/barnacle-versions")
COMMAND = Path("usr/local/bin/barnacle")
STATE = tuple(
    Path("var/lib") / name
    for name in ("barnacle", "barnacle-signal", "barnacle-mcp", "barnacle-program")
)
SETTINGS = Path("etc/barnacle")
SECRETS = (Path("etc/credstore"), Path("etc/credstore.encrypted"))
USERS = ("barnacle", "barnacle-signal", "barnacle-mcp", "barnacle-program", "barnacle-console")
# Debian's numbers for the accounts of people; a service's are below
_PEOPLE = range(1000, 60000)
ENABLED = (
    "barnacle.service",
    "barnacle-tool.socket",
    "barnacle-mcp.socket",
    "barnacle-program.socket",
    "barnacle-program-online.socket",
    "barnacle-board.socket",
)
UNITS = Path("systemd/system")
MODEL_FILES = ("model.json", "model.ort", "tokenizer.json")
JOURNAL = Path("systemd/journald.conf.d/barnacle.conf")
# By folder of systemd/; below usr/lib on the card, below etc on a system of somebody else
_FOLDERS = {
    "sysusers.d": "sysusers.d",
    "tmpfiles.d": "tmpfiles.d",
    "journald.conf.d": "systemd/journald.conf.d",
    "udev": "udev/rules.d",
}
_UNIT_ENDINGS = frozenset({".service", ".socket", ".timer", ".path", ".target", ".slice"})
# Programs that nobody starts, tests of the packages, and what trains or converts models
_UNUSED = (
    "bin",
    "numpy/**/tests",
    "numpy/f2py",
    "onnxruntime/transformers",
    "onnxruntime/quantization",
    "onnxruntime/tools",
    "setuptools*",
    "_distutils_hack",
    "distutils-precedence.pth",
)
_LAUNCHER = """\
#!{python} -I
import os
import sys

os.environ.setdefault("BARNACLE_MODEL_DIR", "{model}")
from agent.cli.main import main

sys.exit(main())
"""


def of_units(source: Path = SYSTEMD) -> dict[Path, Path]:
    """The files of `source`, which is systemd/ or a copy, by their places."""
    found = {}
    for path in sorted(path for path in source.rglob("*") if path.is_file()):
        folder = path.relative_to(source).parts[0]
        if path.suffix in _UNIT_ENDINGS:
            found[UNITS / path.name] = path
        elif folder in _FOLDERS:
            found[Path(_FOLDERS[folder]) / path.name] = path
    return found


def kept(root: Path) -> list[Path]:
    """Yield the existing files that a person made, or the agent for them."""
    secrets = [path for place in SECRETS for path in sorted((root / place).glob("barnacle.*"))]
    found = [root / place for place in (*STATE, SETTINGS)] + secrets
    return [path.relative_to(root) for path in found if path.exists()]


def users(root: Path) -> list[str]:
    """Return those of our users that the system has: an older version made fewer."""
    there = _accounts(root)
    return [user for user in USERS if user in there and not there[user].is_person]


def people(root: Path) -> dict[str, str]:
    """Return the homes of people whose accounts have the name of one of our users."""
    there = _accounts(root)
    return {user: there[user].home for user in USERS if user in there and there[user].is_person}


class _Account(NamedTuple):
    number: int
    home: str

    @property
    def is_person(self) -> bool:
        return self.number in _PEOPLE


def _accounts(root: Path) -> dict[str, _Account]:
    try:
        lines = (root / "etc/passwd").read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return {}
    found = {}
    for line in lines:
        match line.split(":"):
            case [name, _, number, _, _, home, *_] if number.isdecimal():
                found[name] = _Account(int(number), home)
    return found


def copy(path: Path, place: Path) -> None:
    """A file of the system: everybody may read it; whole or not at all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = place.with_name(f".{place.name}.new")
    shutil.copyfile(path, fresh)
    fresh.chmod(0o644)
    fresh.replace(place)


def write_launcher(path: Path, python: Path, model: Path) -> None:
    """The command `barnacle`, which nothing of a person's environment leads elsewhere."""
    path.write_text(_LAUNCHER.format(python=python, model=model))
    path.chmod(0o755)


def copy_model(source: Path, target: Path) -> None:
    target.mkdir(parents=True)
    for part in MODEL_FILES:
        shutil.copyfile(source / part, target / part)


def trim(packages: Path) -> None:
    """Take out of a folder of packages what the agent never uses."""
    for pattern in _UNUSED:
        for path in sorted(packages.glob(pattern)):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
