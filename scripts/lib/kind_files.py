"""Finds the files that name a kind of device: those that adding one would touch."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.structure.sources import imports, modules, parsed

_FOLDERS = ("agent", "firmware", "hardware-tests")
# Where the rows of device kinds are, and the class that each is made of
_ROWS = "agent/link/devices"
_ROW = "DeviceRow"
# What may name a kind: shipped code under these, and what imports from them. Tests come by their
# names alone, since others take a kind as an example; a board file says what its processor has.
_BOARD_CODE = ("agent/link", "firmware")
_BOARD_FILES = "firmware/boards"
_BOARD_TESTS = ("tests/firmware", "tests/link")
_BOARD_PACKAGES = ("agent.link", "firmware")


def files_by_kind(root: Path) -> dict[str, tuple[str, ...]]:
    """Return the files of each kind that has a row.

    A file names a kind when it is called so, or holds its name as a string of its own.
    """
    kinds = _device_kinds(root)
    found: dict[str, list[str]] = {kind: [] for kind in sorted(kinds)}
    for module in (*_board_modules(root), *_tests_of(kinds, root)):
        for kind in _kinds_named(module, root) & kinds:
            found[kind].append(str(module))
    return {kind: tuple(files) for kind, files in found.items()}


def _device_kinds(root: Path) -> frozenset[str]:
    """Return the kinds that have a row."""
    return frozenset(
        str(keyword.value.value)
        for module in modules(_ROWS, root)
        for node in ast.walk(parsed(root / module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == _ROW
        for keyword in node.keywords
        if keyword.arg == "kind" and isinstance(keyword.value, ast.Constant)
    )


def _board_modules(root: Path) -> Iterator[Path]:
    """Yield the modules that are about boards, or import from those that are."""
    for folder in _FOLDERS:
        for module in modules(folder, root):
            if module.is_relative_to(_BOARD_FILES):
                continue
            if any(module.is_relative_to(one) for one in _BOARD_CODE) or any(
                one.target.startswith(_BOARD_PACKAGES) for one in imports(module, root)
            ):
                yield module


def _tests_of(kinds: frozenset[str], root: Path) -> Iterator[Path]:
    names = {f"test_{kind}" for kind in kinds}
    for folder in _BOARD_TESTS:
        yield from (module for module in modules(folder, root) if module.stem in names)


def _kinds_named(module: Path, root: Path) -> frozenset[str]:
    """Return the words that the file is called by or holds as strings."""
    strings = {
        node.value
        for node in ast.walk(parsed(root / module))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return frozenset({module.stem.removeprefix("test_"), *strings})
