"""Programs that find files, lines in them, and values in JSON."""

from collections.abc import Callable, Sequence

from agent.security.grammars.base import Grammar, Value, number, one_of, path, text
from agent.security.grammars.filters import Unclear, name_beyond_json

GREP = Grammar(
    # A digit says how many lines around each are shown
    flags="abcEFGhHiIlLnoPqrRsTuvwxyzZ0123456789",
    long=frozenset(
        {
            *("--count", "--extended-regexp", "--fixed-strings", "--perl-regexp", "--recursive"),
            *("--ignore-case", "--invert-match", "--files-with-matches", "--line-number"),
            *("--files-without-match", "--only-matching", "--no-filename", "--with-filename"),
            *("--word-regexp", "--line-regexp", "--quiet", "--silent", "--no-messages"),
            *("--color=auto", "--color=always", "--color=never", "--basic-regexp", "--text"),
            *("--dereference-recursive", "--null", "--null-data", "--byte-offset"),
            *("--initial-tab", "--line-buffered", "--no-ignore-case"),
        }
    ),
    valued={
        **dict.fromkeys(("-e", "--regexp", "--include", "--exclude", "--exclude-dir"), text),
        **dict.fromkeys(("-A", "-B", "-C", "-m"), number),
        **dict.fromkeys(("--after-context", "--before-context", "--context"), number),
        "--max-count": number,
        **dict.fromkeys(("-f", "--file", "--exclude-from"), path),
        "--binary-files": one_of("binary", "text", "without-match"),
        **dict.fromkeys(("-d", "--directories"), one_of("read", "skip", "recurse")),
        **dict.fromkeys(("-D", "--devices"), one_of("read", "skip")),
        "--label": text,
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
        *("-writable", "-daystart", "-mount", "-noleaf", "-nouser", "-nogroup", "-d", ","),
    }
)


def _kinds(word: str) -> str:
    """Such as f, or f,d."""
    each = one_of("f", "d", "l")
    return next((complaint for one in word.split(",") if (complaint := each(one))), "")


_WITH_VALUE: dict[str, Value] = {
    **dict.fromkeys(("-name", "-iname", "-path", "-ipath", "-regex", "-iregex", "-printf"), text),
    **dict.fromkeys(("-maxdepth", "-mindepth", "-mtime", "-mmin", "-atime", "-ctime"), number),
    **dict.fromkeys(("-amin", "-cmin", "-links", "-inum", "-used"), number),
    **dict.fromkeys(("-uid", "-gid"), number),
    **dict.fromkeys(("-wholename", "-iwholename", "-lname", "-ilname", "-fstype"), text),
    **dict.fromkeys(("-newer", "-anewer", "-cnewer", "-samefile"), path),
    # Whose time is newer than which one of a file, or than a time in words
    **{f"-newer{time}{other}": path for time in "aBcm" for other in "aBcm"},
    **{f"-newer{time}t": text for time in "aBcm"},
    **dict.fromkeys(("-perm", "-size", "-user", "-group"), text),
    "-type": _kinds,
    "-xtype": _kinds,
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


def _filter(word: str) -> str:
    try:
        found = name_beyond_json(word)
    except Unclear as err:
        return f"the filter cannot be read: {err}"
    return f"a filter may not use {found}" if found else ""


# Not -f, whose filter nobody has read, not -L, and no option that opens a further file
JQ = Grammar(
    flags="aceCjMnrRsS",
    long=frozenset(
        {
            *("--ascii-output", "--compact-output", "--exit-status", "--join-output", "--tab"),
            *("--monochrome-output", "--null-input", "--raw-input", "--raw-output", "--slurp"),
            *("--sort-keys", "--color-output", "--raw-output0", "--seq", "--stream", "--args"),
            *("--jsonargs", "--unbuffered"),
        }
    ),
    valued={"--indent": number},
    pairs={"--arg": text, "--argjson": text},
    words=(_filter,),
    rest=path,
    least=1,
)
