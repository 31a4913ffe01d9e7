"""The Model Context Protocol's own conformance suite, as scripts/test has installed it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.structure.sources import ROOT

_FAKES = ROOT / "tests" / "fakes"
_FOLDER = ROOT / ".barnacle" / "mcp_conformance" / "node_modules" / "@modelcontextprotocol"
_PROGRAM = _FOLDER / "conformance" / "dist" / "index.js"
# What is known to differ, with the reason
EXPECTED = _FAKES / "mcp_conformance" / "expected.yml"
# Of a scenario, on a machine that may be busy
LIMIT_S = 90
NEEDED = [
    pytest.mark.skipif(shutil.which("node") is None, reason="there is no node, which runs it"),
    pytest.mark.skipif(not _PROGRAM.exists(), reason=f"there is no {_PROGRAM}: run scripts/test"),
    pytest.mark.timeout(2 * LIMIT_S),
]


def command(*arguments: str) -> list[str]:
    """Return the command line of the suite."""
    older = _FAKES / "mcp_conformance" / "older_node.mjs"
    return ["node", "--import", str(older), str(_PROGRAM), *arguments]


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
