"""Programs that find files, lines in them, and values in JSON."""

import re
from collections.abc import Callable, Sequence

from agent.security.grammars.base import Grammar, Value, number, one_of, path, text

GREP = Grammar(
    flags="abcEFGhHiIlLnoPqrRsTvwxyz",
    long=frozenset(
        {
            *("--count", "--extended-regexp", "--fixed-strings", "--perl-regexp", "--recursive"),
            *("--ignore-case", "--invert-match", "--files-with-matches", "--line-number"),
            *("--files-without-match", "--only-matching", "--no-filename", "--with-filename"),
            *("--word-regexp", "--line-regexp", "--quiet", "--color=never"),
        }
    ),
    valued={
        **dict.fromkeys(("-e", "--regexp", "--include", "--exclude", "--exclude-dir"), text),
        **dict.fromkeys(("-A", "-B", "-C", "-m"), number),
        **dict.fromkeys(("--after-context", "--before-context", "--context"), number),
        "--max-count": number,
        "-f": path,
        "--file": path,
    },
    words=(text,),
    rest=path,
    least=1,
    given_by=frozenset({"-e", "--regexp", "-f", "--file"}),
)

# Tests and actions that only look; what runs, deletes or writes is not among them
_ALONE = frozenset(
    {
        *("-empty", "-print", "-print0", "-prune", "-ls", "-true", "-false", "-depth", "-xdev"),
        *("(", ")", "!", "-not", "-o", "-or", "-a", "-and", "-quit", "-readable", "-executable"),
    }
)
_WITH_VALUE: dict[str, Value] = {
    **dict.fromkeys(("-name", "-iname", "-path", "-ipath", "-regex", "-iregex", "-printf"), text),
    **dict.fromkeys(("-maxdepth", "-mindepth", "-mtime", "-mmin", "-atime", "-ctime"), number),
    **dict.fromkeys(("-amin", "-cmin", "-links"), number),
    "-newer": path,
    "-perm": text,
    "-size": text,
    "-type": one_of("f", "d", "l"),
    "-regextype": one_of("posix-extended", "posix-basic", "egrep", "grep", "emacs"),
}


def _of_find(words: Sequence[str]) -> str:
    """Folders first, then an expression; find has no options that could be put elsewhere."""
    rest = iter(words)
    in_expression = False
    for word in rest:
        if word.startswith("-") or word in _ALONE:
            in_expression = True
            complaint = _of_predicate(word, lambda: next(rest, None))
        elif in_expression:
            complaint = f"{word[:40]!r} cannot stand behind an expression"
        else:
            complaint = path(word)
        if complaint:
            return complaint
    return ""


def _of_predicate(word: str, following: Callable[[], str | None]) -> str:
    if word in _ALONE:
        return ""
    if word not in _WITH_VALUE:
        return f"{word[:40]!r} is no test or action of find here"
    value = following()
    if value is None:
        return f"{word} needs a value"
    complaint = _WITH_VALUE[word](value)
    return complaint and f"{word}: {complaint}"


FIND = Grammar(reads=_of_find)

# The environment is nobody's business, and modules are files that nobody named
_BEYOND_JSON = re.compile(r"\benv\b|\$ENV\b|\b(?:import|include|modulemeta|get_search_list)\b")


def _filter(word: str) -> str:
    found = _BEYOND_JSON.search(word)
    return f"a filter may not use {found[0]}" if found else ""


# Not -f, whose filter nobody has read, not -L, and no option that opens a further file
JQ = Grammar(
    flags="aceCjMnrRsS",
    long=frozenset(
        {
            *("--ascii-output", "--compact-output", "--exit-status", "--join-output", "--tab"),
            *("--monochrome-output", "--null-input", "--raw-input", "--raw-output", "--slurp"),
            "--sort-keys",
        }
    ),
    valued={"--indent": number},
    words=(_filter,),
    rest=path,
    least=1,
)
