"""Trials of weakenings: each is put into the copy, its tests run, and the copy is whole again."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock

from scripts.lib.mutate.coverage_map import CoverageMap
from scripts.lib.mutate.tree import Tree
from scripts.lib.mutate.weakenings import Weakening

# Most weakenings fall to the first few tests; the others are run where those say nothing
_FIRST = 25
_MOST = 400
_FIRST_LIMIT_S, _REST_LIMIT_S = 60.0, 240.0
_PASSED = 0
_PARSING = Lock()
# What pytest says of tests that do not begin, as where a module cannot be imported any more
_NO_TESTS = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict on a weakening; `tests` is the number of tests that could have caught it."""

    weakening: Weakening
    is_caught: bool
    tests: int


def tried(tree: Tree, weakening: Weakening, covering: CoverageMap) -> Verdict:
    """Run the tests of the weak line until one of them fails."""
    source = (tree.folder / weakening.path).read_text()
    if _is_in_function(source, weakening.line):
        line = _statement_line(source, weakening.line)
        tests = covering.of(str(weakening.path), line)
    else:
        # It runs with the import, whoever was first to import it: it is everybody's
        tests = [*_own_tests(tree, weakening.path), *covering.of_file(str(weakening.path))]
    tree.put(weakening.path, weakening.text)
    try:
        is_caught = _fails(tree, tests[:_FIRST], _FIRST_LIMIT_S) or _fails(
            tree, tests[_FIRST:_MOST], _REST_LIMIT_S
        )
    finally:
        tree.put(weakening.path, source)
    return Verdict(weakening, is_caught, len(tests))


def _own_tests(tree: Tree, module: Path) -> list[str]:
    """Return the test files that are named after the module, or after its package."""
    folder = tree.folder.joinpath("tests", *module.parent.parts[1:])
    found = [
        *folder.glob(f"test_{module.stem}*.py"),
        *folder.parent.glob(f"test_{folder.name}*.py"),
    ]
    return [str(path.relative_to(tree.folder)) for path in sorted(found)]


def _fails(tree: Tree, tests: Sequence[str], limit_s: float) -> bool:
    if not tests:
        return False
    words = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", "--tb=no")
    status, _ = tree.run(*words, "--timeout", "30", *tests, limit_s=limit_s)
    if status == _NO_TESTS:
        raise RuntimeError(f"none of the tests was found: {tests[0]}")
    return status != _PASSED


@cache
def _nodes(source: str) -> tuple[ast.AST, ...]:
    # Two threads of Python 3.11 that parse at once fail: gh-106905
    with _PARSING:
        return tuple(ast.walk(ast.parse(source)))


def _is_in_function(source: str, line: int) -> bool:
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body[0].lineno <= line <= (node.end_lineno or line)
        for node in _nodes(source)
    )


def _statement_line(source: str, line: int) -> int:
    """The first line of the innermost statement: coverage knows a long one by that."""
    best = line
    for node in _nodes(source):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line):
            has_body = hasattr(node, "body")
            if not has_body or node.body[0].lineno > line:  # type: ignore[attr-defined]
                best = node.lineno
    return best


def module_of(path: Path) -> str:
    """The name by which a table lists it."""
    return str(path.relative_to("agent"))
