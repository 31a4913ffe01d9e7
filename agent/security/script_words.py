"""Words of a script that are put together only when it runs, where they say what is run.

`sh tools/*.sh` runs what lies there then, `sh "$1"` whatever it is called with: nobody who reads
the script knows. Coarse on purpose: who is asked once more loses nothing.
"""

import re
from collections.abc import Callable, Sequence

SEPARATOR = re.compile(r"[;&|(){}\n]+")
# What stands before a command and starts it
STARTERS = frozenset(
    {
        *("env", "nohup", "timeout", "nice", "ionice", "time", "exec", "command", "xargs"),
        *("setsid", "busybox", "stdbuf", "builtin", "then", "do", "else", "if", "while"),
        *("until", "!"),
    }
)
# Patterns of names, and variables
_MADE = re.compile(r"[*?\[$`]")
# They run the file that is their first operand, and without one what they are given
_RUNNERS = re.compile(
    r"(ba|da|z|k|a)?sh|python[0-9.]*|perl[0-9.]*|ruby[0-9.]*|lua[0-9.]*|node|nodejs|php[0-9.]*"
    r"|expect|tclsh|\.|source"
)
_MAKERS = frozenset({"make", "gmake"})
# Of find: what follows is a command
_COMMAND_NEXT = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FILE_NEXT = frozenset({"-f", "--file", "--from-file", "--include"})
_TESTS = frozenset({"[", "[[", "test"})
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)\+?=")
# Where programs, and what they load before anything else, are looked for
_PLACES = frozenset({"PATH", "ENV", "BASH_ENV", "PYTHONPATH", "PERL5LIB", "RUBYLIB", "LUA_PATH"})
# Commands that are made of texts, and those that run all that is in a folder
_BLIND = frozenset({"eval", "alias", "run-parts", "parallel"})


def are_made_later(tokens: Sequence[str], is_folder: Callable[[str], bool]) -> bool:
    """Return true if only a run of the script says which files it runs.

    Args:
        is_folder: true for a folder of the workspace, in which a program may choose.
    """
    return _Reading(is_folder).finds_one(tokens)


class _Reading:
    """One pass over the words of a script."""

    def __init__(self, is_folder: Callable[[str], bool]) -> None:
        self._is_folder = is_folder
        self._at_command = True
        self._command = ""
        # The program whose operands come, where one of them is run
        self._runner = ""
        self._has_operand = False

    def finds_one(self, tokens: Sequence[str]) -> bool:
        before = ""
        for token in (*tokens, ";"):
            if self._is_made(token, before):
                return True
            before = token
        return False

    def _is_made(self, token: str, before: str) -> bool:
        if SEPARATOR.fullmatch(token):
            return self._ends(token, before)
        if before == "cd" or (before in _FILE_NEXT and self._command not in _TESTS):
            return _MADE.search(token) is not None
        if before in _COMMAND_NEXT:
            self._at_command = True
        if self._at_command:
            return self._begins(token)
        return bool(self._runner) and self._is_made_operand(token)

    def _ends(self, separator: str, before: str) -> bool:
        # Several names in braces are one word with what stands before them
        is_list = separator.startswith("{") and (bool(self._runner) or "/" in self._command)
        # Without an operand a shell runs what comes by its standard input
        is_given = bool(_RUNNERS.fullmatch(self._runner)) and not self._has_operand
        self._at_command, self._command = True, ""
        self._runner, self._has_operand = "", False
        return is_list or is_given or before in _COMMAND_NEXT

    def _begins(self, token: str) -> bool:
        if found := _ASSIGNMENT.match(token):
            return found["name"] in _PLACES
        if token in STARTERS or token.startswith("-") or token.isdigit():
            return False
        self._at_command, self._command = False, token
        if token in _TESTS:
            return False
        name = token.rpartition("/")[2]
        self._runner = name if _RUNNERS.fullmatch(name) or name in _MAKERS else ""
        return name in _BLIND or _MADE.search(token) is not None

    def _is_made_operand(self, token: str) -> bool:
        if token.startswith("-"):
            return False
        is_first, self._has_operand = not self._has_operand, True
        if self._runner in _MAKERS:
            return self._is_folder(token)
        return is_first and (_MADE.search(token) is not None or self._is_folder(token))
