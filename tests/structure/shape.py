"""Rules for the length and the names of things, and for the place of a test."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.structure.sources import ROOT, files, modules, nodes, parsed

MOST_LINES = 400
MOST_FUNCTION_LINES = 50
MOST_CLASS_LINES = 300
# A program that grows beyond this is a part of the agent, or pieces in scripts/lib
MOST_SCRIPT_LINES = 200
MOST_SHELL_LINES = 80
# Files that may be longer, each with a first line that says why
MOST_EXCUSED = 3
_EXCUSE = "# Long because "

_CODE = ("agent", "firmware", "tests", "hardware-tests", "scripts")
# Names that say nothing of what is inside
_NAMELESS = frozenset({"utils", "util", "helpers", "helper", "common", "manager", "misc"})
# Tests of something else than one module of the agent
_OTHER_TESTS = frozenset(
    {"contracts", "faults", "firmware", "oracles", "scripts", "structure", "system", "taint"}
)


def violations(root: Path = ROOT) -> Iterator[str]:
    """Every file, class, function, name and test that is out of shape."""
    excused = []
    for folder in _CODE:
        for module in modules(folder, root):
            yield from _of_names(module)
            yield from _of_parts(module, root)
            if _lines(root / module) > MOST_LINES:
                excused.append(module)
                if not (root / module).read_text().startswith(_EXCUSE):
                    yield f"{module}: more than {MOST_LINES} lines"
    if len(excused) > MOST_EXCUSED:
        yield f"more than {MOST_EXCUSED} long files: {', '.join(map(str, excused))}"
    for module in modules("agent", root):
        if ast.get_docstring(parsed(root / module)) is None:
            yield f"{module}: no module docstring"
    yield from _of_tests(root)
    yield from _of_scripts(root)


def _of_names(module: Path) -> Iterator[str]:
    if module.stem in _NAMELESS:
        yield f"{module}: {module.stem} is no name for what is inside"


def _of_parts(module: Path, root: Path) -> Iterator[str]:
    for node in nodes(root / module):
        if isinstance(node, ast.ClassDef):
            most = MOST_CLASS_LINES
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            most = MOST_FUNCTION_LINES
        else:
            continue
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if lines > most:
            yield f"{module}:{node.lineno}: {node.name} has {lines} lines, {most} are allowed"


def _of_tests(root: Path) -> Iterator[str]:
    """`tests/link/test_frame.py` tests `agent/link/frame.py`; `test_frame_loss.py` a side of it."""
    for test in modules("tests", root):
        folders = test.parts[1:-1]
        if not test.name.startswith("test_") or (folders and folders[0] in _OTHER_TESTS):
            continue
        place, name = root.joinpath("agent", *folders), test.stem.removeprefix("test_")
        words = name.split("_")
        tested = ["_".join(words[: count + 1]) for count in range(len(words))]
        if not any((place / one).is_dir() or (place / f"{one}.py").exists() for one in tested):
            yield f"{test}: there is no agent/{'/'.join([*folders, name])}.py to test"


def _of_scripts(root: Path) -> Iterator[str]:
    for path in files(root):
        if path.parts[0] not in {"scripts", ".ci"} or path.suffix == ".lock":
            continue
        first_line = (root / path).read_text().partition("\n")[0]
        is_shell = path.suffix == ".sh" or first_line.endswith("sh")
        most = MOST_SHELL_LINES if is_shell else MOST_SCRIPT_LINES
        if _lines(root / path) > most:
            yield f"{path}: more than {most} lines"


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())
