"""Weakenings of a guard: one change of one line each, as a tired author could make it.

Not every mutation is one. A guard is weakened where a check is dropped, turned round or widened;
whether an error text says the same or a sum is right is not asked here. That is why this is our
own: mutmut and cosmic-ray change every operator and text, and most of what they then report says
nothing of safety.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.lib.mutate.changes import FLAG, MEMBER, changes

_LONGEST = 100


@dataclass(frozen=True, slots=True)
class Weakening:
    """One changed line: `before` and `after` are all lines that differ, joined."""

    path: Path
    line: int
    kind: str
    before: str
    after: str
    text: str

    @property
    def key(self) -> str:
        """Key of a judgement: it stays the same when other lines change."""
        return f"{self.path}: {_short(self.before)} -> {_short(self.after)}"


def weakenings(path: Path, source: str) -> list[Weakening]:
    """Every weakening of a module, in the order of its lines, each once."""
    # Lists of what a command may have are shortened by this, which lets through less, not more
    is_list_of_allowed = "grammars" in path.parts
    found: dict[str, Weakening] = {}
    tree = ast.parse(source)
    for node in _guarding(tree):
        for kind, begin, end, text in changes(node, source):
            if kind in {MEMBER, FLAG} and is_list_of_allowed:
                continue
            changed = source[:begin] + text + source[end:]
            if changed != source and _parses(changed) and changed not in found:
                found[changed] = _weakening(path, source, changed, kind)
    return sorted(found.values(), key=lambda one: (one.line, one.kind, one.after))


def _guarding(tree: ast.Module) -> Iterator[ast.AST]:
    """Every node but those that guard nothing.

    Decorators, a class's own line, unpacked pairs, lists of exports, names of types, and places
    where tests kill the process.
    """
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        aside: list[ast.AST] = []
        if isinstance(node, ast.ClassDef):
            aside = [*node.decorator_list, *node.keywords]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            aside = list(node.decorator_list)
        elif isinstance(node, ast.Assign) and _guards_nothing(node):
            aside = [node.value]
        waiting.extend(
            one
            for one in ast.iter_child_nodes(node)
            if one not in aside and not _is_crash_point(one)
        )


def _guards_nothing(node: ast.Assign) -> bool:
    target = node.targets[0]
    is_export = isinstance(target, ast.Name) and target.id == "__all__"
    # A type that is one of two: `Address = IPv4Address | IPv6Address`
    is_type = (
        isinstance(target, ast.Name)
        and target.id[:1].isupper()
        and not target.id.isupper()
        and isinstance(node.value, ast.BinOp)
    )
    return is_export or is_type or isinstance(target, ast.Tuple)


def _is_crash_point(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and ast.unparse(node).startswith("crash_point(")


def _weakening(path: Path, source: str, changed: str, kind: str) -> Weakening:
    old, new = source.splitlines(), changed.splitlines()
    first = next(
        (n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(new) - 1
    )
    same = 0
    while same < min(len(old), len(new)) - first and old[-1 - same] == new[-1 - same]:
        same += 1
    before = " ".join(line.strip() for line in old[first : len(old) - same])
    after = " ".join(line.strip() for line in new[first : len(new) - same])
    return Weakening(path, first + 1, kind, before, after, changed)


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
