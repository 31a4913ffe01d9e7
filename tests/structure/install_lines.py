"""Every line by which we tell somebody to install a part, and what is wrong with it."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.structure.sources import ROOT, files

_TEXTS = frozenset({".md", ".py", ".toml", ".sh", ".service", ""})
_FOLDERS = ("agent", "scripts", "image", "systemd", "hardware-tests")
_PIP = re.compile(r"(?P<program>\S*)\bpip install (?P<rest>[^`\n]+)")
_SERVICE = re.compile(r"scripts/install(?: --extra (?P<extra>[^\s`'\",;.]+))+")
_FROM_CHECKOUT = re.compile(r"'\.\[(?P<extras>[^\]]+)\]'")
# The index knows another project by this name
_BARE = re.compile(
    r"\b(?:pipx?|uv|uvx|poetry)\b[^\n`]*\binstall\b[^\n`]*\bbarnacle\b(?!-)|\bbarnacle\["
)
# Of pip itself, or filled in where it is printed
_NOT_OURS = ("--", "-i ", "it ", "<")


def extras(root: Path = ROOT) -> frozenset[str]:
    told = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return frozenset(told["optional-dependencies"])


def lines(root: Path = ROOT) -> Iterator[tuple[str, str]]:
    """Return where each line stands, and the line; string literals over several lines as one."""
    for path in files(root):
        if path.suffix not in _TEXTS or not _is_read(path):
            continue
        try:
            text = (root / path).read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        # Python's literals that stand below each other are one text
        joined = re.sub(r"\"\s*\n\s*f?\"", "", text) if path.suffix == ".py" else text
        for line in joined.splitlines():
            if "install" in line or "barnacle[" in line:
                yield str(path), line


def trouble(line: str, known: frozenset[str]) -> str:
    """Return what is wrong with a line that tells to install something, or nothing."""
    if _BARE.search(line):
        return "it names another project's distribution"
    for found in _PIP.finditer(line):
        rest = found["rest"].strip()
        if rest.startswith(_NOT_OURS) or "$root" in rest:
            continue
        wanted = _FROM_CHECKOUT.match(rest)
        if wanted is None or not found["program"].endswith(".venv/bin/"):
            return f"it is not `.venv/bin/pip install '.[NAME]'`: {found[0]}"
        if reason := _unknown(wanted["extras"].split(","), known):
            return reason
    return _unknown([one["extra"] for one in _SERVICE.finditer(line) if one["extra"]], known)


def _unknown(names: list[str], known: frozenset[str]) -> str:
    wrong = [name for name in names if "{" not in name and name not in known | {"none", "NAME"}]
    return f"there is no extra {', '.join(wrong)}" if wrong else ""


def _is_read(path: Path) -> bool:
    return path.parts[0] in _FOLDERS or path.name in {"README.md", "CHANGELOG.md", "pyproject.toml"}
