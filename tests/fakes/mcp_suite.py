"""The Model Context Protocol's own conformance suite, as scripts/test has installed it."""

import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from tests.structure.sources import ROOT

_FAKES = ROOT / "tests" / "fakes"
_FOLDER = ROOT / ".barnacle" / "mcp_conformance" / "node_modules" / "@modelcontextprotocol"
_PROGRAM = _FOLDER / "conformance" / "dist" / "index.js"
# What is known to differ, with the reason
EXPECTED = _FAKES / "mcp_conformance" / "expected.yml"
_GLOBBING = re.compile(r"(?<=[{,])globSync as \w+,(?=[^}]*}from\"fs\";)")
# Of a scenario, on a machine that may be busy
LIMIT_S = 90
NEEDED = [
    pytest.mark.skipif(shutil.which("node") is None, reason="there is no node, which runs it"),
    pytest.mark.skipif(not _PROGRAM.exists(), reason=f"there is no {_PROGRAM}: run scripts/test"),
    pytest.mark.timeout(2 * LIMIT_S),
]


def command(*arguments: str) -> list[str]:
    """Return the command line of the suite."""
    return ["node", str(_program()), *arguments]


@cache
def _program() -> Path:
    """Return the suite's program, or its like for a Node 20.

    That one has no `fs.globSync`, which our scenarios do not need, and links nothing that asks for
    it. A hook of the loader would do as well, for as much time as the suite takes to load.
    """
    asked = ["node", "--print", "typeof require('fs').globSync"]
    if subprocess.check_output(asked, text=True).strip() == "function":
        return _PROGRAM
    text, times = _GLOBBING.subn("", _PROGRAM.read_text())
    assert times == 1, f"{_PROGRAM} imports it in another way"
    older = _PROGRAM.with_name("older_node.js")
    # In one step: others look for it at the same time
    with tempfile.NamedTemporaryFile("w", dir=older.parent, delete=False) as file:
        file.write(text)
    Path(file.name).replace(older)
    return older


def environ(home: Path) -> dict[str, str]:
    """Return the environment in which it runs."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT)}


def scenarios(side: str, version: str, home: Path) -> set[str]:
    """Return all that the suite has for a side at a version of the protocol."""
    listed = subprocess.run(
        command("list", f"--{side}", "--spec-version", version),
        env=environ(home),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(re.findall(r"^  - (\S+) \[", listed.stdout, re.MULTILINE))
