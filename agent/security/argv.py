"""Which commands may be run: a list of words, checked by the grammar of the program it names.

There is no command language here, so there is nothing to break out of: no shell reads the words,
and those that are run are those that were looked at, one by one.
"""

import unicodedata
from collections.abc import Collection, Mapping, Sequence

from agent.errors import CommandRefused
from agent.printable import printable_line
from agent.security.grammars import listing, machine, reading, searching
from agent.security.grammars.base import Grammar

# More is a list of files, for which there are folders and patterns
MAX_WORDS = 64
# Together: a person who is asked has to read every one of them
MAX_BYTES = 4096
_MAX_SHOWN_CHARS = 40
# Cc control, Cf direction and zero width, Cs lone surrogates, Zl and Zp line ends
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})

# Every program there is; each of them only looks
GRAMMARS: Mapping[str, Grammar] = {
    "cat": reading.CAT,
    "cut": reading.CUT,
    "date": machine.DATE,
    "df": listing.DF,
    "diff": reading.DIFF,
    "du": listing.DU,
    "echo": machine.ECHO,
    "file": listing.FILE,
    "find": searching.FIND,
    "fold": reading.FOLD,
    "grep": searching.GREP,
    "head": reading.HEAD,
    "join": reading.JOIN,
    "jq": searching.JQ,
    "ls": listing.LS,
    "md5sum": reading.SUM,
    "nl": reading.NL,
    "od": reading.OD,
    "paste": reading.PASTE,
    "pwd": listing.PWD,
    "seq": machine.SEQ,
    "sha1sum": reading.SUM,
    "sha256sum": reading.SUM,
    "sha512sum": reading.SUM,
    "sort": reading.SORT,
    "stat": listing.STAT,
    "tac": reading.TAC,
    "tail": reading.TAIL,
    "uname": machine.UNAME,
    "uniq": reading.UNIQ,
    "uptime": machine.UPTIME,
    "wc": reading.WC,
}


def accepted(argv: Sequence[str], allowed: Collection[str]) -> tuple[str, ...]:
    """The very same words, when they may be run.

    Raises:
        CommandRefused: with what is wrong, for a model to repair.
    """
    refuse_unreadable(argv)
    name, *words = argv
    if name not in allowed or name not in GRAMMARS:
        shown = printable_line(name, _MAX_SHOWN_CHARS)
        known = ", ".join(sorted(GRAMMARS.keys() & set(allowed)))
        raise CommandRefused(f"{shown!r} is not among the programs that may be run: {known}")
    if complaint := GRAMMARS[name].complaint(words):
        raise CommandRefused(f"{name} is refused: {complaint}")
    return tuple(argv)


def refuse_unreadable(argv: Sequence[str]) -> None:
    """Raises CommandRefused where a person could not see every word as it is."""
    if not argv:
        raise CommandRefused("there is no command")
    if len(argv) > MAX_WORDS:
        raise CommandRefused(f"the command has more than {MAX_WORDS} words")
    if any(unicodedata.category(char) in _HIDDEN for word in argv for char in word):
        raise CommandRefused("the command has characters that cannot be seen, such as line ends")
    if sum(len(word.encode()) for word in argv) > MAX_BYTES:
        raise CommandRefused(f"the command is longer than {MAX_BYTES} bytes")
