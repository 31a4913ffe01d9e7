"""The project speaks of itself alone: nothing of where, how or by what it is made."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.structure.sources import ROOT, files

# Fixed: what grows, grows inside
TOP_LEVEL = frozenset(
    {
        *("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", ".gitignore"),
        *("CONTRIBUTING.md", "SECURITY.md", "BENCHMARKS.md"),
        *(".editorconfig", ".pre-commit-config.yaml"),
        *("agent", "firmware", "image", "systemd", "hardware-tests", "scripts", "tests", ".ci"),
    }
)
_TEXT = frozenset(
    {"", ".py", ".md", ".toml", ".lock", ".sh", ".txt", ".json", ".jsonl", ".svg", ".service"}
)
# Written with a gap, so that this file does not find itself
_FOREIGN = {
    "a folder of somebody's machine": r"/(?:Users|work|workspace)/\w",
    "a home folder of somebody's machine": r"/home/(?!pi\b|barnacle\b|user\b|somebody\b)\w",
    "a package registry's address": r"(?:pypi|pythonhosted|npmjs|registry\.npm)\.(?:org|com)\b",
    "a mirror's address": r"\b(?:deb|archive|security|ftp\.\w+)\.debian\.org\b",
    "a ticket": r"(?i)\b(?:issue|ticket)s? ?#? ?\d+\b",
    "how the work is organised": r"(?i)\b(?:the brief|co-authored-by|(?:an)?other helper)\b",
}
_URL = re.compile(r"\b[a-z][a-z+]*://")


def violations(root: Path = ROOT) -> Iterator[str]:
    """Every line that speaks of something else."""
    for path in files(root):
        if path.parts[0] not in TOP_LEVEL:
            yield f"{path}: not in the fixed top level"
        elif path.suffix in _TEXT and (root / path) != Path(__file__):
            text = (root / path).read_text(encoding="utf-8", errors="replace")
            yield from _of_text(path, text)


def _of_text(path: Path, text: str) -> Iterator[str]:
    for what, pattern in _FOREIGN.items():
        for found in re.finditer(pattern, text):
            yield f"{path}:{_line(found)}: {what}: {found[0]}"
    if path.suffix == ".lock":
        yield from (f"{path}:{_line(one)}: an address in a lock" for one in _URL.finditer(text))


def _line(found: re.Match[str]) -> int:
    return found.string.count("\n", 0, found.start()) + 1
