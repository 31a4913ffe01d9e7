"""What Discord's public description of its API says of requests, by schemas made from it."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
_CHECK = Path(__file__).parent / "discord_api" / "check.mjs"
# Where scripts/test puts it
_LIBRARY = _ROOT / ".barnacle/discord_api/node_modules"
# The description is large; a busy machine reads it in seconds
LIMIT_S = 40.0


def absence() -> str:
    """Why it cannot be asked here; empty where it can."""
    if shutil.which("node") is None:
        return "there is no node, which reads the schemas: install Debian's package nodejs"
    if not _LIBRARY.exists():
        return f"there is no {_LIBRARY}: run scripts/test"
    return ""


def troubles(calls: Sequence[tuple[str, str, Any]]) -> list[list[str]]:
    """What is wrong with each call, of which method, path and body are given."""
    asked = [{"method": method, "path": path, "body": body} for method, path, body in calls]
    environ = {"PATH": os.environ.get("PATH", os.defpath), "LIBRARY": _LIBRARY.as_uri()}
    done = subprocess.run(
        ["node", str(_CHECK)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        env=environ,
        timeout=LIMIT_S,
    )
    told: list[list[str]] = json.loads(done.stdout)
    return told
