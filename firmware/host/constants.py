"""Numbers of the firmware put where they are used, before it goes onto a board: the same program.

A constant of a file's top level is a name in memory, an entry of a table and a search each time.
"""

import ast
from collections.abc import Mapping

from firmware.host.bundle import BundledFile

_PACKAGE = "node"


def without_constants(files: list[BundledFile]) -> list[BundledFile]:
    """Return the files, joined before, with the numbers of the firmware's own in their places."""
    trees = {
        file.target: ast.parse(file.content)
        for file in files
        if file.target.startswith(f"{_PACKAGE}/") and file.target.endswith(".py")
    }
    known = {_module_of(target): _constants(tree) for target, tree in trees.items()}
    made = {
        target: _Placing(known, known[_module_of(target)]).text(tree)
        for target, tree in trees.items()
    }
    return [
        BundledFile(file.target, made[file.target].encode()) if file.target in made else file
        for file in files
    ]


def _module_of(target: str) -> str:
    return target.removesuffix(".py").replace("/", ".")


def _constants(tree: ast.Module) -> dict[str, int]:
    """Return the numbers that the top level gives a name in capitals, once and for all."""
    found: dict[str, int] = {}
    for node in tree.body:
        name, number = _constant(node)
        if name is not None and number is not None:
            found[name] = number
    stored = [
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    return {name: number for name, number in found.items() if stored.count(name) == 1}


def _constant(node: ast.stmt) -> tuple[str | None, int | None]:
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
        return None, None
    name, value = node.targets[0].id, node.value
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "const":
        value = value.args[0]
    try:
        number = ast.literal_eval(value)
    except ValueError:
        return None, None
    return (name, number) if name.isupper() and type(number) is int else (None, None)


class _Placing(ast.NodeTransformer):
    def __init__(self, known: Mapping[str, Mapping[str, int]], own: Mapping[str, int]) -> None:
        self._known = known
        self._numbers = dict(own)
        self._own = own
        # Other files of the firmware by what they are called here
        self._files: dict[str, str] = {}

    def text(self, tree: ast.Module) -> str:
        """Return the file."""
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                self._note(node)
        return ast.unparse(ast.fix_missing_locations(self.visit(tree))) + "\n"

    def _note(self, node: ast.ImportFrom) -> None:
        for one in node.names:
            if node.module == _PACKAGE:
                self._files[one.asname or one.name] = f"{_PACKAGE}.{one.name}"
            numbers = self._known.get(str(node.module), {})
            if one.name in numbers:
                self._numbers[one.asname or one.name] = numbers[one.name]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        numbers = self._known.get(str(node.module), {})
        node.names = [one for one in node.names if one.name not in numbers]
        return node if node.names else None

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        name, _number = _constant(node)
        return None if name in self._own else self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in self._files:
            numbers = self._known.get(self._files[node.value.id], {})
            if node.attr in numbers:
                return ast.Constant(numbers[node.attr])
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.id in self._numbers:
            return ast.Constant(self._numbers[node.id])
        return node
