"""The layers of the agent, and what breaks them: one sentence for each import that points up."""

from collections.abc import Iterator
from pathlib import Path

from tests.structure.sources import ROOT, imports, modules, name_of

# From the top down; a module may import its own layer and those below it
LAYERS = (
    # The programs that somebody starts
    frozenset({"cli", "console", "provision"}),
    # The composition: it alone builds the parts, and knows all of them
    frozenset({"app"}),
    # The whole configuration
    frozenset({"settings"}),
    frozenset({"backup", "devices", "gateway", "health", "schedule", "update"}),
    # A message's way uses turns; a turn knows nothing of queues and channels
    frozenset({"messaging"}),
    frozenset({"blank", "dispatch", "hardware", "turn"}),
    frozenset({"access", "approvals"}),
    frozenset({"channels", "memory", "providers", "tools"}),
    frozenset({"embeddings", "link", "machine", "peripherals", "readings", "security", "storage"}),
    frozenset({"config", "errors", "messages", "net", "passage", "system", "text"}),
)
# From here up a module may choose an implementation
_CHOOSING = 2
# Modules that must stay portable or pure: everything they may import, theirs and Python's
_CONFINED = {
    # The board's MicroPython runs the same file
    "agent.link.frame": frozenset({"binascii", "struct"}),
    # A pure function of its arguments: nothing here can look at the world
    "agent.security.policy": frozenset(
        {"agent.messages", "agent.errors", "collections.abc", "enum", "msgspec", "typing"}
    ),
}
# A library that few modules know: changing it is their work alone
_WRAPPED = {"httpx": ("agent.net.http", "agent.net.http_call")}
# Of these packages the others know the seam; which implementation it is, agent/app decides
_SEAMS = {
    # What is seen of a Markdown text is one function, nothing to choose
    "channels": frozenset({"base", "push", "render", "settings"}),
    "embeddings": frozenset({"base", "settings"}),
    # How words are found in six languages is one function, nothing to choose
    "memory": frozenset({"base", "settings", "text"}),
    "providers": frozenset({"base", "settings"}),
}


def violations(root: Path = ROOT) -> Iterator[str]:
    """Every broken rule in the tree at `root`."""
    for module in modules("agent", root):
        name = name_of(module)
        if _part(name) and _layer(name) is None:
            yield f"{module}: agent.{_part(name)} has no layer: add it to LAYERS"
            continue
        for imported in imports(module, root):
            for problem in _problems(name, imported.target):
                yield f"{module}:{imported.line}: {problem}"


def circles(root: Path = ROOT) -> Iterator[str]:
    """Yield each pair of modules that import one another.

    An import counts wherever it stands: one in a function, or one for type checkers alone, only
    hides the circle from Python. A reader of either module still has to know both.
    """
    names = frozenset(name_of(module) for module in modules("agent", root))
    known = {
        name_of(module): set(_imported(module, root, names)) for module in modules("agent", root)
    }
    for name, targets in known.items():
        yield from (
            f"{name} and {other} import one another: move what both need into a third module"
            for other in sorted(targets)
            if name < other and name in known[other]
        )


def _imported(module: Path, root: Path, names: frozenset[str]) -> Iterator[str]:
    """Yield the modules that it imports; a name inside a module counts as the module."""
    for one in imports(module, root):
        target = one.target
        while target and target not in names:
            target = target.rpartition(".")[0]
        # A package stands above its modules; nobody imports it for itself
        if target and not (root / Path(*target.split("."))).is_dir():
            yield target


def _problems(name: str, target: str) -> Iterator[str]:
    allowed = _CONFINED.get(name)
    if allowed is not None and not any(_is_within(target, one) for one in allowed):
        yield f"{name} may import only {', '.join(sorted(allowed))}, not {target}"
    library = target.partition(".")[0]
    if name not in _WRAPPED.get(library, (name,)):
        yield f"only {' and '.join(_WRAPPED[library])} know {library}"
    if not _is_within(target, "agent") or not _part(target):
        return
    if _layer(target) is None:
        # `from agent import __version__` names no module
        return
    if (own := _layer(name)) is None or own > (_layer(target) or 0):
        yield f"points up: {name} imports {target}"
    elif not _is_through_seam(name, target):
        yield f"{name} chooses {target}; import the seam, agent/app hands over the part"


def _is_through_seam(name: str, target: str) -> bool:
    part = _part(target)
    if part not in _SEAMS or part == _part(name) or (_layer(name) or 0) <= _CHOOSING:
        return True
    return target.split(".")[2:3] == [] or target.split(".")[2] in _SEAMS[part]


def _layer(name: str) -> int | None:
    """The number of a module's layer from the top; the package itself lies at the bottom."""
    if not _part(name):
        return len(LAYERS) - 1
    return next((number for number, layer in enumerate(LAYERS) if _part(name) in layer), None)


def _part(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def _is_within(target: str, module: str) -> bool:
    return target == module or target.startswith(f"{module}.")
