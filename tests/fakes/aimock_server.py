"""The pretended model services of @copilotkit/aimock, which others wrote for everybody."""

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_FIXTURES = Path(__file__).parent / "aimock" / "fixtures.json"
_CLI = _ROOT / ".barnacle" / "aimock" / "node_modules" / "@copilotkit" / "aimock" / "dist/cli.js"
# What it says it needs
_OLDEST_NODE = (20, 15)
_LISTENING = re.compile(r"listening on (http://\S+)")


@cache
def absence() -> str:
    """Why it cannot be started here; empty where it can."""
    node = shutil.which("node")
    if node is None:
        return "there is no node, which runs aimock: install Debian's package nodejs"
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    major, minor, *_ = (int(part) for part in told.strip().removeprefix("v").split("."))
    if (major, minor) < _OLDEST_NODE:
        return f"node is {told.strip()}, and aimock needs 20.15 or newer"
    if not _CLI.exists():
        return f"there is no aimock in {_CLI.parents[4]}: run scripts/test"
    return ""


@contextlib.contextmanager
def running() -> Iterator[str]:
    """Its address, without a path."""
    command = ["node", str(_CLI), "--port", "0", "--fixtures", str(_FIXTURES), "--strict"]
    environment = {"PATH": os.environ.get("PATH", os.defpath), "NODE_OPTIONS": ""}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        try:
            yield _address(process)
        finally:
            process.kill()


def _address(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if found := _LISTENING.search(line):
            return found[1]
    raise AssertionError(f"aimock did not start: {''.join(said)}")
