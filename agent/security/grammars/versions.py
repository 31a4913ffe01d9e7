"""What git may be told: a grammar for each of its commands that works on a repository here.

No -c, no path of programs, no editor, no other repository, nothing that goes over a network.
"""

from collections.abc import Mapping, Sequence

from agent.security.grammars.versions_changing import CHANGING
from agent.security.grammars.versions_command import Command
from agent.security.grammars.versions_looking import LOOKING

COMMANDS: Mapping[str, Command] = {**LOOKING, **CHANGING}


def complaint(argv: Sequence[str]) -> str:
    """Return the reason why git may not be told this; empty where it may."""
    name, *words = argv
    if name not in COMMANDS:
        return f"{name[:40]!r} is no command of git here: {', '.join(sorted(COMMANDS))}"
    found = COMMANDS[name].complaint(words)
    return found and f"git {name} is refused: {found}"


def only_looks(argv: Sequence[str]) -> bool:
    """Return whether the command changes nothing; what is refused does not only look."""
    name, *words = argv
    return name in COMMANDS and COMMANDS[name].only_looks(words)
