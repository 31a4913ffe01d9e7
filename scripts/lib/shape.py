"""Counts how easy the tree is to read: docstrings, names, importers, files per device, the README.

Each measure has a bar. `--list MEASURE` names the places that are counted.
"""

import argparse
import ast
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scripts.lib.bench.table import Row, show
from scripts.lib.kind_files import files_by_kind
from tests.structure.sources import ROOT, imports, modules, name_of, parsed

# Shipped code; tests name their fakes and cases as they like
_CODE = ("agent", "firmware")
# A docstring that begins with one of these is a riddle: it names a question, not the thing
_QUESTION_WORDS = frozenset(
    {"How", "What", "When", "Where", "Whether", "Which", "Who", "Whom", "Whose", "Why"}
)
# Words in -ing that are nouns, and gerunds that the field itself uses as a name
_NOUNS = frozenset({"logging", "onboarding", "pooling", "ring", "streaming", "string"})
_MOST_README_LINES = 250
_MOST_FILES_PER_KIND = 4


@dataclass(frozen=True, slots=True)
class Count:
    """Places that one measure counts, and out of how many."""

    places: tuple[str, ...]
    of: int
    # What `--list` names, where that is more than the places
    all_places: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        return len(self.places) / self.of if self.of else 0.0


@dataclass(frozen=True, slots=True)
class Measure:
    """One row of the table; `most` is a number of places, `most_share` a part of them all."""

    name: str
    about: str
    count: Callable[[Path], Count]
    most: int = 0
    most_share: float | None = None

    def row(self, root: Path) -> Row:
        count = self.count(root)
        measured = f"{len(count.places)} of {count.of} ({count.share:.1%})"
        if self.most_share is not None:
            bar, held = f"<= {self.most_share:.0%}", count.share <= self.most_share
        else:
            bar, held = f"<= {self.most}", len(count.places) <= self.most
        return Row(self.about, bar, measured, "", held)


def count_docstrings(root: Path) -> Count:
    """Count docstrings that begin with a question word."""
    found, total = [], 0
    for module in _modules(root):
        for node in ast.walk(parsed(root / module)):
            if not isinstance(
                node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            ):
                continue
            words = (ast.get_docstring(node) or "").split(maxsplit=1)
            total += bool(words)
            if words and words[0].strip(",.:") in _QUESTION_WORDS:
                line = getattr(node, "lineno", 1)
                found.append(f"{module}:{line} {getattr(node, 'name', 'module')}")
    return Count(tuple(found), total)


def count_gerunds(root: Path) -> Count:
    """Count modules whose name ends in -ing and is no noun."""
    every = _modules(root)
    found = [str(one) for one in every if one.stem.endswith("ing") and one.stem not in _NOUNS]
    return Count(tuple(found), len(every))


def count_shared_class_names(root: Path) -> Count:
    """Count names of public classes that stand for several classes."""
    places = defaultdict(list)
    for module in _modules(root):
        for node in parsed(root / module).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(module))
    found = [f"{name}: {', '.join(at)}" for name, at in sorted(places.items()) if len(at) > 1]
    return Count(tuple(found), len(places))


def count_single_importers(root: Path) -> Count:
    """Count the agent's modules that exactly one other module imports."""
    names = {name_of(module): module for module in modules("agent", root)}
    importers: Counter[str] = Counter()
    for importer in (*modules("agent", root), *modules("image", root), *modules("scripts", root)):
        importers.update(_targets(importer, root, frozenset(names)))
    found = [str(module) for name, module in names.items() if importers[name] == 1]
    return Count(tuple(found), len(names))


def count_files_per_kind(root: Path) -> Count:
    """Count the files that name a device kind, for the kind with the most of them."""
    files = files_by_kind(root)
    every = tuple(f"{kind}: {file}" for kind, named in files.items() for file in named)
    return Count(max(files.values(), key=len, default=()), len(every), every)


def count_readme_lines(root: Path) -> Count:
    """Count the README's lines."""
    lines = (root / "README.md").read_text(encoding="utf-8").splitlines()
    return Count(tuple(lines), len(lines))


MEASURES = (
    Measure("docstrings", "docstrings that begin with a question word", count_docstrings),
    Measure("gerunds", "modules named by a gerund", count_gerunds, most_share=0.03),
    Measure(
        "class-names", "class names that stand for several classes", count_shared_class_names, 20
    ),
    Measure("importers", "modules with one importer", count_single_importers, 200),
    Measure(
        "device-kinds",
        "files that name one device kind, at most",
        count_files_per_kind,
        _MOST_FILES_PER_KIND,
    ),
    Measure("readme", "lines of README.md", count_readme_lines, _MOST_README_LINES),
)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/shape", description=__doc__)
    names = [measure.name for measure in MEASURES]
    parser.add_argument("--list", choices=names, help="name the places that this measure counts")
    wanted = parser.parse_args(arguments).list
    for measure in MEASURES:
        if measure.name == wanted:
            count = measure.count(ROOT)
            print("\n".join(count.all_places or count.places))
            return 0
    rows = [measure.row(ROOT) for measure in MEASURES]
    show(rows)
    return 0 if all(row.held for row in rows) else 1


@cache
def _modules(root: Path) -> tuple[Path, ...]:
    return tuple(module for folder in _CODE for module in modules(folder, root))


def _targets(importer: Path, root: Path, names: frozenset[str]) -> Iterator[str]:
    """Yield each module of ours that it imports, once; a name inside one counts as the module."""
    found = set()
    for one in imports(importer, root):
        target = one.target
        while target and target not in names:
            target = target.rpartition(".")[0]
        if target and target != name_of(importer):
            found.add(target)
    yield from found
