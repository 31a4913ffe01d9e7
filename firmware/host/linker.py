"""Joins the firmware's modules into a few files before they go onto a board: the same program.

A module costs a board memory (its table of names, the names that it imports) and room (half a block
of flash, its own table of strings), whatever is in it. So all that is loaded at the start becomes
one file, and what is loaded on demand another one for each demand. A name that two modules have
gets a number.
"""

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field

from firmware.host.bundle import BundledFile

_PACKAGE = "node"
# What main.py starts: everything that this imports is needed from the first pass on
_START = "node.loop"
# boot.py, which is never updated, imports the first by name; the second shares its private names
# with frame.py, a file of the agent's
_APART = frozenset({"node.port", "node.codec"})


def linked(files: list[BundledFile]) -> list[BundledFile]:
    """Return the files with the modules of the firmware joined, each in the place of its first."""
    modules = {
        _module_of(file.target): _Module(_module_of(file.target), ast.parse(file.content))
        for file in files
        if file.target.startswith(f"{_PACKAGE}/") and file.target.endswith(".py")
    }
    groups = _groups(modules)
    root_of = {name: root for root, names in groups.items() for name in names}
    names = _unique_names(modules)
    made = {
        root: _joined([modules[name] for name in members], root_of, names)
        for root, members in groups.items()
    }
    return [
        BundledFile(file.target, made[_module_of(file.target)].encode())
        if _module_of(file.target) in made
        else file
        for file in files
        if root_of.get(_module_of(file.target), "") in {"", _module_of(file.target)}
    ]


@dataclass(slots=True)
class _Module:
    """A module, and what its own top level says."""

    name: str
    tree: ast.Module
    # By what it calls them: names of other modules of the firmware, and those modules
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    def defined(self) -> Iterator[str]:
        """Yield the names that its top level binds, but for imports."""
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield node.name
            elif not isinstance(node, ast.Import | ast.ImportFrom):
                yield from _stored(node)


def _module_of(target: str) -> str:
    return target.removesuffix(".py").replace("/", ".")


def _stored(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id


def _groups(modules: dict[str, _Module]) -> dict[str, list[str]]:
    """Return the members of each file by its first module, those that others use before them."""
    roots = [_START, *_demanded(modules), *(name for name in modules if ".devices." in name)]
    needed: dict[str, list[str]] = {}
    for root in dict.fromkeys(roots):
        order: list[str] = []
        _collect(root, modules, frozenset(roots) - {root}, order)
        needed[root] = order
    at_start = set(needed[_START])
    users: dict[str, int] = {}
    for order in needed.values():
        for name in set(order) - at_start:
            users[name] = users.get(name, 0) + 1
    groups = {_START: needed[_START]}
    for root, order in needed.items():
        if root != _START and root not in at_start:
            groups[root] = [name for name in order if users.get(name) == 1]
    joined = {name for members in groups.values() for name in members}
    groups.update({name: [name] for name in modules if name not in joined})
    return groups


def _demanded(modules: dict[str, _Module]) -> Iterator[str]:
    """Yield the modules that are imported inside a function."""
    for module in modules.values():
        for function in ast.walk(module.tree):
            if isinstance(function, ast.FunctionDef):
                for node in ast.walk(function):
                    yield from (at for at in _imports_of(node, modules) if at not in _APART)


def _collect(
    name: str, modules: dict[str, _Module], others: frozenset[str], order: list[str]
) -> None:
    for node in modules[name].tree.body:
        for imported in _imports_of(node, modules):
            if imported not in _APART | others and imported not in order:
                _collect(imported, modules, others, order)
    if name not in order:
        order.append(name)


def _imports_of(node: ast.AST, modules: dict[str, _Module]) -> Iterator[str]:
    """Yield the modules of the firmware that a statement imports."""
    if isinstance(node, ast.ImportFrom) and node.module in modules:
        yield node.module
    elif isinstance(node, ast.ImportFrom) and node.module == _PACKAGE:
        yield from (f"{_PACKAGE}.{one.name}" for one in node.names)


def _unique_names(modules: dict[str, _Module]) -> dict[tuple[str, str], str]:
    """Return a name of its own for every name of every module's top level."""
    taken = set(dir(builtins))
    for module in modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Import):
                taken.update((one.asname or one.name).partition(".")[0] for one in node.names)
            elif isinstance(node, ast.arg):
                taken.add(node.arg)
            elif isinstance(node, ast.FunctionDef):
                taken.update(_stored(node))
    unique: dict[tuple[str, str], str] = {}
    # What has to keep its name comes first: a device is found by the name of its kind
    for name in sorted(modules, key=lambda one: (one not in _APART, ".devices." not in one)):
        for word in dict.fromkeys(modules[name].defined()):
            keeps = name in _APART or (".devices." in name and not word.startswith("_"))
            fresh = word
            number = 2
            while fresh in taken and not keeps:
                fresh = f"{word}_{number}"
                number += 1
            taken.add(fresh)
            unique[name, word] = fresh
    return unique


def _joined(
    members: list[_Module], root_of: dict[str, str], names: dict[tuple[str, str], str]
) -> str:
    """Return the text of one file made of these modules."""
    imports: dict[str, None] = {}
    body: list[ast.stmt] = []
    inside = {module.name for module in members}
    for module in members:
        rewriting = _Rewriting(module, inside, root_of, names)
        for node in module.tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                imports.update(dict.fromkeys(rewriting.outside(node)))
            else:
                body.append(rewriting.visit(node))
    text = "\n".join([*imports, ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))])
    return text + "\n"


class _Rewriting(ast.NodeTransformer):
    """Gives every name of a module's top level, its own or imported, the one it has when joined."""

    def __init__(
        self,
        module: _Module,
        inside: set[str],
        root_of: dict[str, str],
        names: dict[tuple[str, str], str],
    ) -> None:
        self._module = module
        self._inside = inside
        self._root_of = root_of
        self._names = names
        # What a name of the top level means, and modules of the firmware by their names here
        self._meanings = {word: names[module.name, word] for word in module.defined()}
        self._aliases: dict[str, str] = {}
        self._locals: list[set[str]] = []
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom):
                self._note(node)

    def _note(self, node: ast.ImportFrom) -> None:
        at_top = node in self._module.tree.body
        for one in node.names:
            called = one.asname or one.name
            if node.module == _PACKAGE:
                self._aliases[called] = f"{_PACKAGE}.{one.name}"
            elif node.module in self._root_of and at_top:
                self._meanings[called] = self._names[node.module, one.name]

    def outside(self, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        """Yield the statements that are left of an import at the top."""
        if isinstance(node, ast.Import) or node.module not in {*self._root_of, _PACKAGE}:
            yield ast.unparse(node)
            return
        for one in node.names:
            if node.module == _PACKAGE:
                home = self._root_of[f"{_PACKAGE}.{one.name}"]
                if f"{_PACKAGE}.{one.name}" not in self._inside:
                    yield f"from {_PACKAGE} import {home.rpartition('.')[2]}"
            elif node.module not in self._inside:
                word = self._names[str(node.module), one.name]
                yield f"from {self._root_of[str(node.module)]} import {word}"

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        # Inside a function: on demand, so from another file
        if node.module in self._root_of:
            home = self._root_of[str(node.module)]
            for one in node.names:
                one.name, one.asname = (
                    self._names[str(node.module), one.name],
                    one.asname or one.name,
                )
            node.module = home
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in self._aliases:
            home = self._aliases[node.value.id]
            word = self._names.get((home, node.attr), node.attr)
            if home in self._inside:
                return ast.Name(word, node.ctx)
            node.attr = word
            return node
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if not any(node.id in names for names in self._locals):
            node.id = self._meanings.get(node.id, node.id)
        return node

    def visit_Global(self, node: ast.Global) -> ast.AST:
        node.names = [self._meanings.get(name, name) for name in node.names]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        # What a class binds is an attribute and no name of the file
        if not self._locals:
            node.name = self._meanings.get(node.name, node.name)
        node.bases = [self.visit(base) for base in node.bases]
        node.body = [
            self.visit(one) if isinstance(one, ast.FunctionDef) else self._attribute(one)
            for one in node.body
        ]
        return node

    def _attribute(self, node: ast.stmt) -> ast.stmt:
        if isinstance(node, ast.Assign):
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        is_method = isinstance(getattr(node, "parent", None), ast.ClassDef)
        if not self._locals and not is_method and node in self._module.tree.body:
            node.name = self._meanings.get(node.name, node.name)
        node.args.defaults = [self.visit(one) for one in node.args.defaults]
        node.args.kw_defaults = [one and self.visit(one) for one in node.args.kw_defaults]
        node.decorator_list = [self.visit(one) for one in node.decorator_list]
        self._locals.append(_bound_in(node))
        node.body = [self.visit(one) for one in node.body]
        self._locals.pop()
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self._locals.append({one.arg for one in node.args.args})
        self.generic_visit(node)
        self._locals.pop()
        return node


def _bound_in(function: ast.FunctionDef) -> set[str]:
    """Return the names that are the function's own."""
    given = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    bound = {one.arg for one in given}
    for one in (function.args.vararg, function.args.kwarg):
        if one is not None:
            bound.add(one.arg)
    shared: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
        elif isinstance(node, ast.Global):
            shared.update(node.names)
        elif isinstance(node, ast.FunctionDef) and node is not function:
            bound.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound.update(one.asname or one.name for one in node.names)
    return bound - shared
