"""Check of a command: a list of words, judged by the grammar of its program.

No shell is involved, so there is no quoting to break out of: the checked words are the words that
run.
"""

import unicodedata
from collections.abc import Collection, Mapping, Sequence

from agent.errors import CommandRefused
from agent.security.grammars import files, folders, machine, search
from agent.security.grammars.base import Grammar
from agent.text.printable import printable_line

# More is a list of files, for which there are folders and patterns
MAX_WORDS = 64
# Together: a person who is asked has to read every one of them
MAX_BYTES = 4096
_MAX_SHOWN_CHARS = 40
# Cc control, Cf direction and zero width, Cs lone surrogates, Zl and Zp line ends
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})

# Every program there is; each of them only looks
GRAMMARS: Mapping[str, Grammar] = {
    "cat": files.CAT,
    "cut": files.CUT,
    "date": machine.DATE,
    "df": folders.DF,
    "diff": files.DIFF,
    "du": folders.DU,
    "echo": machine.ECHO,
    "file": folders.FILE,
    "find": search.FIND,
    "fold": files.FOLD,
    "grep": search.GREP,
    "head": files.HEAD,
    "join": files.JOIN,
    "jq": search.JQ,
    "ls": folders.LS,
    "md5sum": files.SUM,
    "nl": files.NL,
    "od": files.OD,
    "paste": files.PASTE,
    "pwd": folders.PWD,
    "seq": machine.SEQ,
    "sha1sum": files.SUM,
    "sha256sum": files.SUM,
    "sha512sum": files.SUM,
    "sort": files.SORT,
    "stat": folders.STAT,
    "tac": files.TAC,
    "tail": files.TAIL,
    "uname": machine.UNAME,
    "uniq": files.UNIQ,
    "uptime": machine.UPTIME,
    "wc": files.WC,
}


def accepted(argv: Sequence[str], allowed: Collection[str]) -> tuple[str, ...]:
    """Return the same words if they may be run.

    Raises:
        CommandRefused: with what is wrong, for a model to repair.
    """
    refuse_unreadable(argv)
    name, *words = argv
    if name not in allowed or name not in GRAMMARS:
        shown = printable_line(name, _MAX_SHOWN_CHARS)
        known = ", ".join(sorted(GRAMMARS.keys() & set(allowed)))
        raise CommandRefused(f"{shown!r} is not an allowed program; allowed are: {known}")
    if complaint := GRAMMARS[name].complaint(words):
        raise CommandRefused(f"{name} is refused: {complaint}")
    return tuple(argv)


def refuse_unreadable(argv: Sequence[str]) -> None:
    """Raise CommandRefused if a person could not see every word as it is."""
    if not argv:
        raise CommandRefused("the command is empty")
    if len(argv) > MAX_WORDS:
        raise CommandRefused(f"the command has more than {MAX_WORDS} words")
    if any(unicodedata.category(char) in _HIDDEN for word in argv for char in word):
        raise CommandRefused("the command has invisible characters, such as line ends")
    if sum(len(word.encode()) for word in argv) > MAX_BYTES:
        raise CommandRefused(f"the command is longer than {MAX_BYTES} bytes")
