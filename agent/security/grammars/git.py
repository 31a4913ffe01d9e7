"""Grammar of git: one for each of its commands that works on a local repository.

No -c, no path of programs, no editor, no other repository, nothing that goes over a network.
"""

from collections.abc import Mapping, Sequence

from agent.security.grammars.git_changes import CHANGING
from agent.security.grammars.git_command import GitCommand
from agent.security.grammars.git_views import LOOKING

COMMANDS: Mapping[str, GitCommand] = {**LOOKING, **CHANGING}


def complaint(argv: Sequence[str]) -> str:
    """Return the reason to refuse these words; "" if git may get them."""
    name, *words = argv
    if name not in COMMANDS:
        allowed = ", ".join(sorted(COMMANDS))
        return f"{name[:40]!r} is not an allowed git command; allowed are: {allowed}"
    found = COMMANDS[name].complaint(words)
    return found and f"git {name} is refused: {found}"


def only_looks(argv: Sequence[str]) -> bool:
    """Return true if the command changes nothing; a refused command returns false."""
    name, *words = argv
    return name in COMMANDS and COMMANDS[name].only_looks(words)
