import ast
import sys
from collections.abc import Iterator

import pytest

from agent.readings import rule_code

_NODE = {"frame", "micropython", "node"}


@pytest.mark.parametrize("source", dict(rule_code._sources()).items(), ids=lambda one: one[0])
def test_what_goes_with_a_task_needs_no_package(source: tuple[str, str]) -> None:
    name, text = source
    known = _NODE | set(dict(rule_code._sources())) | sys.stdlib_module_names
    assert set(_imported(text)) <= known, f"{name} runs without packages, beside the firmware's own"


async def test_a_search_for_conflicts_runs_in_the_child() -> None:
    given: dict[str, object] = {"rules": [], "outputs": {}, "ranges": [], "asked": []}
    assert (await rule_code.run("rule_conflicts", given, None))["conflicts"] == []


def _imported(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (one.name.partition(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]
