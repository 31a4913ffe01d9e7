"""Map from lines to their tests: one run of all, with the test as coverage's context."""

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from scripts.lib.mutate.tree import Tree

_LIMIT_S = 1200.0
_DATA = ".coverage.mutate"
# Races and loads: they take long, and other tests run the same lines
_WITHOUT = "not megabyte and not swapped and not survives"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+(?: \S+)*?)(?: - .*)?$", re.MULTILINE)
# Races that a busy machine loses; more means that something else is wrong
_MOST_FAILED = 5


@dataclass(frozen=True)
class CoverageMap:
    """Tests by file and line; `size` has for each test how many lines it runs."""

    tests: dict[tuple[str, int], frozenset[str]] = field(default_factory=dict)
    size: dict[str, int] = field(default_factory=dict)

    def of(self, path: str, line: int) -> list[str]:
        """Tests that run the line, those that run the fewest others first."""
        return self._sorted(self.tests.get((path, line), frozenset()))

    def of_file(self, path: str) -> list[str]:
        """Tests that run any line of the file."""
        return self._sorted(
            frozenset().union(*(tests for (at, _), tests in self.tests.items() if at == path))
        )

    def _sorted(self, tests: frozenset[str]) -> list[str]:
        return sorted(tests, key=lambda test: (self.size.get(test, 0), test))


def measured(tree: Tree, paths: Sequence[str], tests: Sequence[str]) -> CoverageMap:
    """Run the tests once, unweakened; what fails already is no witness.

    Raises:
        RuntimeError: they do not run, or hardly any passes.
    """
    config = tree.folder / "mutate.coveragerc"
    named = "\n    ".join(paths)
    config.write_text(f"[run]\nbranch = false\ndata_file = {_DATA}\ninclude =\n    {named}\n")
    status, told = tree.run(
        *("-m", "coverage", "run", f"--rcfile={config}", "-m", "pytest", "-q", "--tb=no"),
        *("-p", "no:cacheprovider", "-p", "scripts.lib.mutate.contexts", "-k", _WITHOUT, *tests),
        limit_s=_LIMIT_S,
    )
    failed = frozenset(_FAILED.findall(told))
    if status not in (0, 1) or len(failed) > _MOST_FAILED:
        raise RuntimeError(f"the tests do not pass as they are:\n{told[-2000:]}")
    for test in sorted(failed):
        print(f"fails unweakened, and is left out: {test}", flush=True)
    return _read(tree.folder, tree.folder / _DATA, failed)


def _read(root: Path, data: Path, failed: frozenset[str]) -> CoverageMap:
    from coverage.numbits import numbits_to_nums  # noqa: PLC0415 - only this needs it

    found = CoverageMap()
    gathered: dict[tuple[str, int], set[str]] = {}
    with closing(sqlite3.connect(data)) as db:
        rows = db.execute(
            "SELECT file.path, context.context, line_bits.numbits FROM line_bits "
            "JOIN file ON file.id = line_bits.file_id "
            "JOIN context ON context.id = line_bits.context_id WHERE context.context != ''"
        ).fetchall()
    for path, test, bits in rows:
        if test in failed:
            continue
        lines = numbits_to_nums(bits)
        found.size[test] = found.size.get(test, 0) + len(lines)
        for line in lines:
            gathered.setdefault((str(Path(path).relative_to(root)), line), set()).add(test)
    found.tests.update({place: frozenset(tests) for place, tests in gathered.items()})
    return found
