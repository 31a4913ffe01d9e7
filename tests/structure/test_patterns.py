"""No pattern ends in `$`: in Python it also fits before a line end, which nobody has looked at."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.structure.sources import ROOT, modules, nodes

# At the end of a whole, of a choice or of a group
_END = re.compile(r"(?<!\\)\$(?=\)|\||\Z)")
_WHOLE = re.compile(r"\^.*\$", re.DOTALL)
_FOLDERS = ("agent", "image")


def loose_patterns(within: Iterable[ast.AST]) -> Iterator[int]:
    """Return the lines of patterns that take a line end after what they are to fit."""
    for node in within:
        if isinstance(node, ast.Call):
            loose = [text for text in _patterns_of(node) if _END.search(text)]
            # With it the ends of lines are meant
            if loose and "MULTILINE" not in _attributes(node):
                yield from (node.lineno for _ in loose)
        elif isinstance(node, ast.Assign) and _is_whole(node.value):
            yield node.lineno


def _attributes(call: ast.Call) -> set[str]:
    return {one.attr for one in ast.walk(call) if isinstance(one, ast.Attribute)}


def _patterns_of(call: ast.Call) -> Iterator[str]:
    function = call.func
    is_of_re = (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
    )
    wanted = [one.value for one in call.keywords if one.arg == "pattern"]
    for argument in [*(call.args[:1] if is_of_re else []), *wanted]:
        yield "".join(
            str(one.value if isinstance(one.value, str) else one.value.decode("latin-1"))
            for one in ast.walk(argument)
            if isinstance(one, ast.Constant) and isinstance(one.value, str | bytes)
        )


def _is_whole(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Constant)
        and isinstance(value.value, str)
        and _WHOLE.fullmatch(value.value) is not None
    )


def test_no_pattern_takes_a_line_end_at_its_end() -> None:
    found = [
        f"{module}:{line}: end it with \\Z instead of $"
        for folder in _FOLDERS
        for module in modules(folder, ROOT)
        for line in loose_patterns(nodes(ROOT / module))
    ]
    assert "\n".join(found) == ""


@pytest.mark.parametrize(
    "source",
    [
        're.compile(r"^[a-z]+$")',
        're.compile(rb"x$")',
        're.search(f"{x}y$", z)',
        're.compile(r"(a|b$)c")',
        're.compile(r"(?=\\s|$)")',
        'Meta(pattern="^[a-z]$")',
        '_NAME = "^[a-z]{3}$"',
    ],
)
def test_a_loose_end_is_found(source: str) -> None:
    assert [*loose_patterns(ast.walk(ast.parse(source)))] == [1]


@pytest.mark.parametrize(
    "source",
    [
        're.compile(r"^[a-z]+\\Z")',
        're.compile(r"^x$", re.MULTILINE)',
        're.compile(r"costs \\$")',
        're.compile(r"[$]ENV")',
        '_PRICE = "5 $"',
    ],
)
def test_what_means_no_end_is_left_alone(source: str) -> None:
    assert [*loose_patterns(ast.walk(ast.parse(source)))] == []


def test_the_folders_are_there() -> None:
    assert all((Path(ROOT) / folder).is_dir() for folder in _FOLDERS)
