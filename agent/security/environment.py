"""The environment of a child process: made from a fixed list, never from our own.

Nothing of the agent's environment is passed on. The configuration may add a few names that only
change how things are shown; what makes a program load, run or trust something else is refused.
"""

from collections.abc import Mapping
from pathlib import Path

from agent.errors import CommandRefused
from agent.printable import printable_line

# Only folders of the system, which nobody but root writes to
PATH = "/usr/bin:/bin"
# Text is UTF-8, and messages are the ones every model has read
LANG = "C.UTF-8"
# They change how numbers, times and tables look, and nothing else
ADDABLE = frozenset(
    {"COLUMNS", "LC_COLLATE", "LC_NUMERIC", "LC_TIME", "LINES", "NO_COLOR", "TERM", "TZ"}
)
MAX_VALUE_CHARS = 128
_MAX_SHOWN_CHARS = 40


def child_environment(home: Path, added: Mapping[str, str] | None = None) -> dict[str, str]:
    """Everything a child is told.

    Raises:
        CommandRefused: a name or a value may not be added.
    """
    added = added or {}
    for name, value in added.items():
        if complaint := complaint_about(name, value):
            raise CommandRefused(complaint)
    return {**added, "PATH": PATH, "LANG": LANG, "HOME": str(home)}


def complaint_about(name: str, value: str) -> str:
    """Why this may not be added; empty if it may."""
    if name not in ADDABLE:
        shown = printable_line(name, _MAX_SHOWN_CHARS)
        return f"{shown} may not be in the environment of a program: only {', '.join(names())} may"
    # A zone is looked up as a file: never one outside the system's own
    is_path = name == "TZ" and (value.startswith((":", "/")) or ".." in value)
    if is_path or len(value) > MAX_VALUE_CHARS or not value.isprintable():
        return f"{name} has a value that cannot be used in the environment of a program"
    return ""


def names() -> list[str]:
    return sorted(ADDABLE)
