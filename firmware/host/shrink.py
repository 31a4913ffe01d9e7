"""Makes the files of the firmware small before they go onto a board: the same program, fewer names.

MicroPython keeps every name of an attribute, a function and an argument in memory, where they took
a fifth of what the firmware takes. So the numbers of `frame` are put where they are used, names
that one file alone knows become short, and arguments are told by their place. What a name says to
another file, and whatever is asked for as a string or by keyword, stays.
"""

import ast
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import TypeGuard

from agent.link import frame
from firmware.host.bundle import BundledFile

_FRAME = "frame.py"
# A class of one of these is a class of the other too: both see the same private names
_RELATED = frozenset({_FRAME, "node/codec.py"})
# Read by whoever looks at a board's files
_AS_THEY_ARE = frozenset({"boot.py", "main.py", "description.py", "board.py"})
# Of frame.py, what only a computer needs
_HOST_ONLY = frozenset({"CODES", "Frame", "encode"})
_HOST_ONLY_METHODS = frozenset({"feed", "__slots__"})
# And what node/codec.py has as machine code
_SLOW = frozenset({"_stuff"})
_SLOW_METHODS = frozenset({"stuff", "take"})
_CONSTANTS = {
    name: value
    for name, value in vars(frame).items()
    if name.isupper() and isinstance(value, int | str | bytes)
}


def shrunk(files: list[BundledFile], *, has_machine_code: bool = False) -> list[BundledFile]:
    """The same files, as they are to be compiled or played."""
    trees = {
        file.target: ast.parse(file.content)
        for file in files
        if file.target.endswith(".py") and file.target not in _AS_THEY_ARE
    }
    if has_machine_code and _FRAME in trees:
        _drop(trees[_FRAME], _SLOW, _SLOW_METHODS)
    kept = _kept(trees)
    return [
        BundledFile(file.target, _small(file.target, trees[file.target], kept).encode())
        if file.target in trees
        else file
        for file in files
    ]


def _small(target: str, tree: ast.Module, kept: frozenset[str]) -> str:
    if target == _FRAME:
        _drop_what_only_a_computer_needs(tree)
    private = {} if target in _RELATED else _private_names(tree, kept)
    small = ast.fix_missing_locations(_Shrinking(target, private, kept).visit(tree))
    if target != _FRAME and not any(
        isinstance(node, ast.Name) and node.id == "frame" for node in ast.walk(small)
    ):
        small.body = [node for node in small.body if not _imports_frame(node)]
    return ast.unparse(small) + "\n"


def _kept(trees: dict[str, ast.Module]) -> frozenset[str]:
    """Names that mean something outside of the file or the function that defines them."""
    kept = set()
    for tree in trees.values():
        own = set(_defined(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr not in own:
                kept.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                kept.add(node.value)
            elif isinstance(node, ast.keyword) and node.arg:
                kept.add(node.arg)
            elif isinstance(node, ast.ImportFrom):
                kept.update(name.name for name in node.names)
    return frozenset(kept)


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


def _private_names(tree: ast.Module, kept: frozenset[str]) -> dict[str, str]:
    """Short names for those that begin with an underscore and belong to this file alone."""
    taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    taken |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    fresh = (name for number in range(1000) if (name := f"_{number}") not in taken)
    constants = {ast.unparse(node.targets[0]) for node in tree.body if _is_constant(node)}
    return {
        name: next(fresh)
        for name in dict.fromkeys(_defined(tree))
        if name.startswith("_") and not name.startswith("__") and name not in kept | constants
    }


def _is_constant(node: ast.stmt) -> TypeGuard[ast.Assign]:
    # `_NAME = const(...)`: the compiler leaves nothing of it
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "const"
    )


def _drop_what_only_a_computer_needs(tree: ast.Module) -> None:
    _drop(tree, _HOST_ONLY | _CONSTANTS.keys(), _HOST_ONLY_METHODS)


def _drop(tree: ast.Module, names: AbstractSet[str], methods: AbstractSet[str]) -> None:
    tree.body = [node for node in tree.body if not names & set(_defined_at(node))]
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            node.body = [one for one in node.body if not methods & set(_defined_at(one))]


def _defined_at(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield ast.unparse(node.targets[0])


def _imports_frame(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import) and [name.name for name in node.names] == ["frame"]


class _Shrinking(ast.NodeTransformer):
    def __init__(self, target: str, private: dict[str, str], kept: frozenset[str]) -> None:
        self._is_frame = target == _FRAME
        self._private = private
        self._kept = kept
        # Of the functions around where we are: arguments, and what they are called now
        self._arguments: list[dict[str, str]] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        before = sum(len(names) for names in self._arguments)
        given = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
        renamed = [name for name in given if name != "self" and name not in self._kept]
        self._arguments.append({name: f"a{before + at}" for at, name in enumerate(renamed)})
        for one in node.args.args:
            one.arg = self._arguments[-1].get(one.arg, one.arg)
        node.name = self._private.get(node.name, node.name)
        self.generic_visit(node)
        self._arguments.pop()
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._private.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> ast.AST:
        node.names = [self._private.get(name, name) for name in node.names]
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        for names in reversed(self._arguments):
            if node.id in names:
                node.id = names[node.id]
                return node
        if self._is_frame and node.id in _CONSTANTS and isinstance(node.ctx, ast.Load):
            return ast.Constant(_CONSTANTS[node.id])
        node.id = self._private.get(node.id, node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        is_of_frame = isinstance(node.value, ast.Name) and node.value.id == "frame"
        if is_of_frame and node.attr in _CONSTANTS:
            return ast.Constant(_CONSTANTS[node.attr])
        self.generic_visit(node)
        node.attr = self._private.get(node.attr, node.attr)
        return node
