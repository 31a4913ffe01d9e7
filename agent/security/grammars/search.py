"""Programs that find files, lines in them, and values in JSON."""

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from agent.security.grammars.base import Grammar, Value, number, one_of, path, text

# The environment is nobody's business, and modules are files that nobody named
_BEYOND_JSON = frozenset({"env", "import", "include", "modulemeta", "get_search_list"})
_ENVIRONMENT = "ENV"
_TOKEN = re.compile(
    r"""
      (?P<space> \s+ )
    | (?P<comment> \#[^\\\r\n]* (?=\n|\Z) )
    | (?P<number> [0-9]+ (?:\.[0-9]*)? (?:[eE][+-]?[0-9]+)? | \.[0-9]+ (?:[eE][+-]?[0-9]+)? )
    | (?P<field> (?<!\.) \. [A-Za-z_][A-Za-z0-9_]* )
    | (?P<name> [A-Za-z_][A-Za-z0-9_]* (?: :: [A-Za-z_][A-Za-z0-9_]* )* )
    | (?P<format> @[A-Za-z0-9_]+ )
    | (?P<text> " )
    | (?P<mark> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_OPENING, _CLOSING = "([{", ")]}"
_BEFORE_KEY = frozenset({"{", ","})


class _Token(Struct, frozen=True):
    kind: str
    text: str
    # The bracket that it stands in; empty outside of all
    within: str


class Unclear(ValueError):
    """A filter that jq would not read either."""


def name_beyond_json(filter_text: str) -> str:
    """Return the first name in a filter that reaches beyond the JSON; empty where there is none.

    Raises:
        Unclear: a string or a bracket of it does not end.
    """
    tokens = [one for one in _tokens(filter_text) if one.kind not in {"space", "comment"}]
    before = ""
    for place, token in enumerate(tokens):
        following = tokens[place + 1].text if place + 1 < len(tokens) else ""
        if token.kind == "name":
            if before == "$":
                if token.text.split("::")[0] == _ENVIRONMENT:
                    return f"${token.text}"
            elif _is_looked_up(token, before, following):
                return token.text
        before = token.text
    return ""


def _is_looked_up(token: _Token, before: str, following: str) -> bool:
    is_key = token.within == "{" and before in _BEFORE_KEY and following == ":"
    return not is_key and any(part in _BEYOND_JSON for part in token.text.split("::"))


def _tokens(filter_text: str) -> Iterator[_Token]:
    """Yield all tokens of a filter, including those of expressions inside strings."""
    place, opened = 0, [""]
    while place < len(filter_text):
        if opened[-1] == '"':
            place = _after_text(filter_text, place, opened)
            continue
        found = _TOKEN.match(filter_text, place)
        assert found is not None  # every character is a mark, if nothing else
        place = found.end()
        kind, text = str(found.lastgroup), found[0]
        if kind == "mark" and text == "#":
            # Versions of jq differ in where such a comment ends
            raise Unclear("a comment in it has a backslash or a carriage return")
        within = opened[-1]
        if kind == "text":
            opened.append('"')
        elif kind == "mark" and text in _OPENING:
            opened.append(text)
        elif kind == "mark" and text in _CLOSING:
            _close(text, opened)
        yield _Token(kind, text, within)
    if len(opened) > 1:
        raise Unclear("a string or a bracket in it does not end")


def _close(text: str, opened: list[str]) -> None:
    if len(opened) == 1 or opened.pop() != _OPENING[_CLOSING.index(text)]:
        raise Unclear(f"a {text} in it has no opening one")


def _after_text(filter_text: str, place: int, opened: list[str]) -> int:
    """Return the position after the next part of a string that is longer than one character."""
    if filter_text[place] == '"':
        opened.pop()
        return place + 1
    if filter_text[place] != "\\":
        return place + 1
    if filter_text.startswith("\\(", place):
        opened.append("(")
    return place + 2


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
    """Accept types such as f, or f,d."""
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
    """Read folders first, then an expression; find takes no options elsewhere."""
    rest = iter(words)
    in_expression = False
    for word in rest:
        if word.startswith("-") or word in _ALONE:
            in_expression = True
            complaint = _of_predicate(word, lambda: next(rest, None))
        elif in_expression:
            complaint = f"{word[:40]!r} cannot follow an expression"
        else:
            complaint = path(word)
        if complaint:
            return complaint
    return ""


def _of_predicate(word: str, following: Callable[[], str | None]) -> str:
    if word in _ALONE:
        return ""
    if word not in _WITH_VALUE:
        return f"{word[:40]!r} is not an allowed test or action of find"
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
