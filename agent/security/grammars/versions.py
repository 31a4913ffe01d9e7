"""What git may be told: a grammar for each of its commands that works on a repository here.

No -c, no path of programs, no editor, no other repository, nothing that goes over a network.
"""

import re
from collections.abc import Mapping

from agent.security.grammars.base import Grammar, Value, number, path, text

# Names of commits and branches, and what git makes of them: HEAD~2, main..work, v1.0^{tree}
_REVISION = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_./@{}^~:-]{0,199}")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,99}")
# Whatever a file of the same repository says, no other program makes the difference
_PLAIN_DIFF = frozenset({"--no-ext-diff", "--no-textconv", "--ignore-submodules=all"})


def revision(word: str) -> str:
    """A commit or a range of them, or a file beneath the repository."""
    is_revision = _REVISION.fullmatch(word) is not None and "../" not in word
    return "" if is_revision else path(word)


def _name(word: str) -> str:
    is_name = _NAME.fullmatch(word) is not None and ".." not in word
    return "" if is_name else f"{word[:40]!r} is no name of a branch"


_SHOWN: frozenset[str] = _PLAIN_DIFF | {
    *("--stat", "--numstat", "--shortstat", "--name-only", "--name-status", "--no-color"),
    *("--color=never", "--patch", "--no-patch", "--word-diff", "--check"),
}
_CHOSEN: Mapping[str, Value] = {"-U": number, "--diff-filter": text}
_LISTED: Mapping[str, Value] = {
    **dict.fromkeys(("--since", "--until", "--after", "--before", "--author", "--grep"), text),
    "-n": number,
    "--max-count": number,
    "--skip": number,
    "-S": text,
    "-G": text,
}

# Commands that only look, and those that change the repository or its files
READING: Mapping[str, Grammar] = {
    "status": Grammar(
        flags="sb",
        long=frozenset(
            {"--short", "--branch", "--long", "--porcelain", "--ignored"}
            | {"--ignore-submodules=all"}
        ),
        rest=path,
    ),
    "log": Grammar(
        flags="pi0123456789",
        long=_SHOWN
        | {"--oneline", "--graph", "--all", "--decorate", "--reverse", "--merges", "--no-merges"}
        | {"--follow", "--first-parent"},
        valued={**_CHOSEN, **_LISTED},
        rest=revision,
    ),
    "diff": Grammar(
        flags="pwbR", long=_SHOWN | {"--cached", "--staged"}, valued=_CHOSEN, rest=revision
    ),
    "show": Grammar(flags="psw", long=_SHOWN | {"--oneline"}, valued=_CHOSEN, rest=revision),
}
# With these `branch` only lists; with a name or -d it changes something
LISTING_BRANCHES = Grammar(
    flags="arv", long=frozenset({"--all", "--list", "--remotes", "--show-current", "--verbose"})
)
WRITING: Mapping[str, Grammar] = {
    "init": Grammar(flags="q", valued={"-b": _name, "--initial-branch": _name}),
    "add": Grammar(flags="Au", long=frozenset({"--all", "--update"}), rest=path),
    "commit": Grammar(
        flags="aq",
        long=frozenset({"--all", "--quiet", "--allow-empty"}),
        valued={"-m": text, "--message": text},
        rest=path,
    ),
    "branch": Grammar(flags="d", long=frozenset({"--delete"}), words=(_name, revision), least=1),
    "checkout": Grammar(flags="q", valued={"-b": _name}, rest=revision),
    "restore": Grammar(
        flags="qSW",
        long=frozenset({"--staged", "--worktree"}),
        valued={"-s": revision, "--source": revision},
        rest=path,
        least=1,
    ),
}
