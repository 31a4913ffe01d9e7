"""The locks are complete: what is asked for is pinned, and every pin has its hashes."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.structure.sources import ROOT

_PLAIN = "dependencies"
# Which groups of pyproject.toml a lock serves; the last one is installed beside the runtime's
_GROUPS = {
    "requirements.lock": (_PLAIN, "embeddings"),
    "requirements-dev.lock": (_PLAIN, "embeddings", "model", "dev"),
    "requirements-extras.lock": (
        *("pi", "gateway", "postgres", "documents", "drawing", "mcp", "matrix", "xmpp"),
        "backup",
    ),
}
_NAME = re.compile(r"^[A-Za-z0-9._-]+")
_PIN = re.compile(r"^(?P<name>[a-z0-9._-]+)==(?P<version>[^\s;\\]+)", re.MULTILINE)


def pins(lock: Path) -> dict[str, set[str]]:
    """Every package of a lock with its versions: one for each marker."""
    found: dict[str, set[str]] = {}
    for match in _PIN.finditer(lock.read_text()):
        found.setdefault(match["name"], set()).add(match["version"])
    return found


def violations(root: Path = ROOT) -> Iterator[str]:
    """Everything that is asked for and not pinned, pinned twice over, or without a hash."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    scripts = root / "scripts"
    groups = {_PLAIN: project["dependencies"], **project["optional-dependencies"]}
    for name, served in _GROUPS.items():
        pinned = pins(scripts / name)
        for requirement in (one for group in served for one in groups[group]):
            package = _normal(requirement)
            if package not in pinned:
                yield f"{name}: {package} is missing: run scripts/lock"
    for lock in sorted(scripts.glob("*.lock")):
        yield from _without_hash(lock)
    yield from _disagreeing(scripts)


def _without_hash(lock: Path) -> Iterator[str]:
    for block in re.split(r"\n(?=\S)", lock.read_text().strip()):
        if "--hash=sha256:" not in block:
            yield f"{lock.name}: no hash: {block.splitlines()[0]}"


def _disagreeing(scripts: Path) -> Iterator[str]:
    """Both are installed into one environment: the smaller lock must be a part of the larger."""
    everything = pins(scripts / "requirements-dev.lock")
    for package, versions in pins(scripts / "requirements.lock").items():
        if everything.get(package) != versions:
            yield f"{package}: {versions} in one lock, {everything.get(package)} in the other"


def _normal(requirement: str) -> str:
    match = _NAME.match(requirement)
    assert match is not None, requirement
    return re.sub(r"[-_.]+", "-", match[0]).lower()
