"""The project's own files, as the structure tests see them: parsed once, other trees welcome."""

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Made by tools, not written by anybody
_MADE = frozenset({"__pycache__", "node_modules", "typings", "dist", "build"})
_HIDDEN_BUT_OURS = frozenset({".ci", ".gitignore", ".editorconfig", ".pre-commit-config.yaml"})


@dataclass(frozen=True, slots=True)
class Import:
    """One imported name: the full path of what is imported, and where it is."""

    target: str
    line: int


def files(root: Path = ROOT) -> Iterator[Path]:
    """Every file that somebody wrote, relative to `root`."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if _is_ours(name))
        yield from (
            Path(folder, name).relative_to(root) for name in sorted(names) if _is_ours(name)
        )


def modules(folder: str, root: Path = ROOT) -> Iterator[Path]:
    """The Python files beneath a folder of `root`, relative to `root`."""
    yield from (path.relative_to(root) for path in _python_files(root / folder))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return every node of a module, walked through once for all who look at it."""
    return tuple(ast.walk(parsed(path)))


def name_of(module: Path) -> str:
    """`agent/link/frame.py` is `agent.link.frame`; a package is its folder."""
    parts = module.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(module: Path, root: Path = ROOT) -> Iterator[Import]:
    """Every import in a module, wherever it stands: in functions and for type checkers too.

    `from a import b` counts as `a.b`: `b` may be a module.
    """
    package = name_of(module).split(".")
    if module.name != "__init__.py":
        package.pop()
    for node in nodes(root / module):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (Import(f"{base}.{alias.name}", node.lineno) for alias in node.names)
        elif isinstance(node, ast.Call) and (target := _imported_by_call(node)):
            yield Import(target, node.lineno)


def _imported_by_call(call: ast.Call) -> str:
    """The module that `import_module("...")` or `__import__("...")` names, if it is constant."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name not in {"import_module", "__import__"} or not call.args:
        return ""
    argument = call.args[0]
    if isinstance(argument, ast.JoinedStr) and argument.values:
        argument = argument.values[0]
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return argument.value.rstrip(".")
    return ""


def _is_ours(name: str) -> bool:
    return name in _HIDDEN_BUT_OURS or not (name.startswith(".") or name in _MADE)


def _python_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*.py")):
        if not _MADE.intersection(path.parts):
            yield path
