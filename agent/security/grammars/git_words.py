"""Word forms that several git commands share: commits, names, formats and diff options.

Whatever a word means to git, it is no option, no program, and no path out of the repository.
"""

import re
from collections.abc import Mapping

from agent.security.grammars.base import Grammar, Value, number, one_of, path, text

# Names of commits and branches, and what git makes of them: HEAD~2, main..work, v1.0^{tree}
_REVISION = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_./@{}^~:-]{0,199}")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,99}")
_RANGE = re.compile(r"[0-9]{1,9}(,[+-]?[0-9]{0,9})?|,[0-9]{1,9}")
_SORTED_BY = re.compile(
    r"-?(v:refname|version:refname|refname|creatordate|taggerdate|committerdate|authordate)"
)
# Signatures are looked at by another program
_SIGNED = ("%G", "signature")
# Whatever a file of the same repository says, no other program makes the difference
_PLAIN_DIFF = frozenset({"--no-ext-diff", "--no-textconv", "--ignore-submodules=all"})


def revision(word: str) -> str:
    """Accept a commit, a range of commits, or a file of the repository."""
    is_revision = _REVISION.fullmatch(word) is not None and "../" not in word
    return "" if is_revision else path(word)


def name(word: str) -> str:
    is_name = _NAME.fullmatch(word) is not None and ".." not in word
    return "" if is_name else f"{word[:40]!r} is not the name of a branch"


def shown_format(word: str) -> str:
    signed = next((mark for mark in _SIGNED if mark in word), "")
    return f"a format with {signed} would start another program" if signed else ""


def lines(word: str) -> str:
    return "" if _RANGE.fullmatch(word) else f"{word[:40]!r} is not a range of lines such as 10,20"


def sorted_by(word: str) -> str:
    return "" if _SORTED_BY.fullmatch(word) else f"{word[:40]!r} is not a sort key"


WHEN = one_of("auto", "always", "never")
SHOWN: frozenset[str] = _PLAIN_DIFF | {
    *("--stat", "--numstat", "--shortstat", "--name-only", "--name-status", "--no-color"),
    *("--patch", "--no-patch", "--check", "--raw", "--summary", "--minimal"),
    *("--patience", "--histogram", "--ignore-all-space", "--ignore-space-change", "--no-prefix"),
    *("--ignore-blank-lines", "--ignore-space-at-eol", "--function-context", "--exit-code"),
    *("--quiet", "--compact-summary", "--no-renames", "--full-index", "--patch-with-stat"),
    *("--dirstat", "--binary", "--text", "--cc"),
}
CHOSEN: Mapping[str, Value] = {
    **dict.fromkeys(("-U", "--unified", "--inter-hunk-context"), number),
    **dict.fromkeys(("--diff-filter", "-S", "-G"), text),
    "--diff-algorithm": one_of("patience", "minimal", "histogram", "myers", "default"),
}
OPTIONAL: Mapping[str, Value] = {
    **dict.fromkeys(("--color", "--color-words"), WHEN),
    "--word-diff": one_of("color", "plain", "porcelain", "none"),
    "--relative": path,
    **dict.fromkeys(("--abbrev", "--find-renames"), number),
    "--pretty": shown_format,
    "--decorate": one_of("short", "full", "auto", "no"),
}
LISTED: Mapping[str, Value] = {
    **dict.fromkeys(("--since", "--until", "--after", "--before", "--author", "--grep"), text),
    **dict.fromkeys(("--committer", "--date", "--glob"), text),
    **dict.fromkeys(("-n", "--max-count", "--skip", "--min-parents", "--max-parents"), number),
    "--format": shown_format,
}
WALKED = frozenset(
    {
        *("--oneline", "--graph", "--all", "--reverse", "--merges", "--no-merges", "--branches"),
        *("--follow", "--first-parent", "--tags", "--remotes", "--no-decorate", "--left-right"),
        *("--abbrev-commit", "--no-abbrev-commit", "--topo-order", "--date-order", "--parents"),
        *(
            "--author-date-order",
            "--boundary",
            "--cherry-pick",
            "--relative-date",
            "--full-history",
        ),
        *(
            "--all-match",
            "--invert-grep",
            "--regexp-ignore-case",
            "--extended-regexp",
            "--children",
        ),
        *(
            "--fixed-strings",
            "--perl-regexp",
            "--pickaxe-regex",
            "--walk-reflogs",
            "--simplify-merges",
        ),
    }
)
LISTS: Mapping[str, Value] = {
    **dict.fromkeys(("--contains", "--no-contains", "--points-at"), revision),
    "--sort": sorted_by,
    "--format": shown_format,
}
LOG = Grammar(
    flags="pizEFgrcmMCRsw0123456789",
    long=SHOWN | WALKED,
    valued={**CHOSEN, **LISTED},
    attached=OPTIONAL,
    rest=revision,
)
