"""The configuration of the chats of this checkout: made once, then the person's own."""

import re
import tomllib
from pathlib import Path

_CONTENT = """\
# Made by scripts/run for the chats of this checkout. It is yours: once edited, it stays as it is.
# `barnacle check --example` prints every key with its default.

[board]
port = "{port}"
"""
_UNTOUCHED = re.compile(re.escape(_CONTENT).replace(re.escape("{port}"), "[^\n]*"))


def offer(path: Path, port: Path) -> None:
    """Write the first configuration; one that nobody edited follows a checkout that moved."""
    if not path.exists() or _UNTOUCHED.fullmatch(path.read_text(errors="replace")):
        # Quoted as JSON does it, which TOML reads the same
        quoted = str(port).replace("\\", "\\\\").replace('"', '\\"')
        path.write_text(_CONTENT.format(port=quoted))


def means_port(path: Path, port: Path) -> bool:
    """Return true if the configuration's board is at `port`; the chat rejects a broken one."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        return bool(table["board"]["port"] == str(port))
    except (OSError, ValueError, TypeError, KeyError):
        return False
