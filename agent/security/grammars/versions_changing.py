"""Commands of git that change the repository or its files, and how some of them only look.

Nothing that throws away work that no commit holds, but for files that are named.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from agent.security.grammars.base import Grammar, number, one_of, path, text
from agent.security.grammars.versions_command import Command
from agent.security.grammars.versions_words import (
    CHOSEN,
    LISTS,
    LOG,
    OPTIONAL,
    SHOWN,
    WHEN,
    name,
    revision,
    target,
)

_STASH = (revision,)
_QUIET = frozenset({"--quiet"})
_SEQUENCE = frozenset({"--abort", "--quit", "--no-commit"})
# What a repository's settings may hold without a mark that we do not read
_VALUE = re.compile(r"[^\\\"#;\n]{1,100}")
_SETTING = re.compile(r"[a-z][a-z0-9-]{0,40}(\.[^\n]{1,60})?\.[a-zA-Z][a-zA-Z0-9-]{0,40}")
# They take the word after them, and stand for HEAD at the end
_MERGED = ("--merged", "--no-merged")
_LISTING = frozenset({"-l", "--list"})
_BRANCHES = Grammar(
    flags="arvil",
    long=frozenset(
        {"--all", "--list", "--remotes", "--show-current", "--verbose", "--no-color"}
        | {"--ignore-case"}
    ),
    valued={**LISTS, **dict.fromkeys(_MERGED, revision)},
    attached={**dict.fromkeys(("--column", "--color"), WHEN), "--abbrev": number},
)
_TAGS = Grammar(
    flags="li",
    long=frozenset({"--list", "--ignore-case", "--no-color"}),
    valued={**LISTS, **dict.fromkeys(_MERGED, revision)},
    attached={"-n": number, **dict.fromkeys(("--column", "--color"), WHEN)},
)


def _setting(word: str) -> str:
    """A setting by its name; without a dot it would be an order to newer ones of git."""
    return "" if _SETTING.fullmatch(word) else f"{word[:40]!r} is no name of a setting"


def _plain(word: str) -> str:
    return "" if _VALUE.fullmatch(word) else "it has a character that settings give a meaning"


def _listing(grammar: Grammar) -> Callable[[Sequence[str]], str]:
    """Names are patterns only where a list is asked for; elsewhere they would be made."""
    with_patterns = replace(grammar, rest=text)

    def complaint(words: Sequence[str]) -> str:
        whole = [*words, "HEAD"] if words and words[-1] in _MERGED else words
        asked = _LISTING.intersection(words)
        return (with_patterns if asked else grammar).complaint(whole)

    return complaint


CHANGING: Mapping[str, Command] = {
    "config": Command(
        Grammar(
            flags="lz",
            long=frozenset({"--list", "--get", "--get-all", "--local", "--show-origin"})
            | {"--name-only", "--show-scope"},
            words=(_setting,),
        ),
        Grammar(
            long=frozenset({"--local"}), words=(one_of("user.name", "user.email"), _plain), least=2
        ),
    ),
    "branch": Command(
        # With these it only lists; with a name or -d it changes something
        Grammar(reads=_listing(_BRANCHES)),
        Grammar(
            flags="dmcq",
            long=frozenset({"--delete", "--move", "--copy", "--quiet", "--no-track", "--track"}),
            words=(name, revision),
            least=1,
        ),
    ),
    "tag": Command(
        Grammar(reads=_listing(_TAGS)),
        # Not -s, -u and -v, which start another program for the signature
        Grammar(
            flags="ad",
            long=frozenset({"--annotate", "--delete", "--no-sign"}),
            valued={"-m": text, "--message": text},
            words=(name, revision),
            least=1,
        ),
    ),
    "stash": Command(
        None,
        Grammar(flags="uakq", long=_QUIET | {"--include-untracked", "--all", "--keep-index"}),
        beneath={
            "list": Command(LOG),
            "show": Command(
                Grammar(
                    flags="pu",
                    long=SHOWN | {"--include-untracked", "--only-untracked"},
                    valued=CHOSEN,
                    attached=OPTIONAL,
                    words=_STASH,
                )
            ),
            "push": Command(
                None,
                Grammar(
                    flags="uakqS",
                    long=_QUIET | {"--include-untracked", "--all", "--keep-index", "--staged"},
                    valued={"-m": text, "--message": text},
                    rest=path,
                ),
            ),
            "pop": Command(None, Grammar(flags="q", long=_QUIET | {"--index"}, words=_STASH)),
            "apply": Command(None, Grammar(flags="q", long=_QUIET | {"--index"}, words=_STASH)),
            "drop": Command(None, Grammar(flags="q", long=_QUIET, words=_STASH)),
        },
    ),
    "init": Command(None, Grammar(flags="q", valued={"-b": name, "--initial-branch": name})),
    "add": Command(
        None,
        Grammar(
            flags="AuvnN",
            long=frozenset({"--all", "--update", "--verbose", "--dry-run", "--intent-to-add"}),
            rest=path,
        ),
    ),
    "commit": Command(
        None,
        Grammar(
            flags="aqv",
            long=_QUIET | {"--all", "--allow-empty", "--dry-run", "--short"},
            valued={"-m": text, "--message": text, "--author": text, "--date": text},
            rest=path,
        ),
    ),
    "checkout": Command(
        None,
        Grammar(
            flags="q",
            long=_QUIET | {"--detach", "--ours", "--theirs", "--no-track"},
            valued={"-b": name},
            rest=target,
        ),
    ),
    "switch": Command(
        None,
        Grammar(
            flags="qd",
            long=_QUIET | {"--detach", "--no-track"},
            valued={"-c": name, "--create": name},
            words=(target,),
        ),
    ),
    # Not -s, which names a program; the ways of joining that git has itself are few
    "merge": Command(
        None,
        Grammar(
            flags="qn",
            long=_QUIET
            | {"--ff-only", "--no-ff", "--ff", "--squash", "--no-commit", "--commit", "--abort"}
            | {"--quit", "--stat", "--no-stat", "--no-edit"},
            valued={
                **dict.fromkeys(("-m", "--message"), text),
                **dict.fromkeys(("-X", "--strategy-option"), one_of("ours", "theirs")),
            },
            words=(revision,),
        ),
    ),
    "cherry-pick": Command(
        None, Grammar(flags="xn", long=_SEQUENCE, valued={"-m": number}, rest=revision)
    ),
    "revert": Command(
        None,
        Grammar(flags="n", long=_SEQUENCE | {"--no-edit"}, valued={"-m": number}, rest=revision),
    ),
    "restore": Command(
        None,
        Grammar(
            flags="qSW",
            long=_QUIET | {"--staged", "--worktree", "--ours", "--theirs"},
            valued={"-s": revision, "--source": revision},
            rest=path,
            least=1,
        ),
    ),
    # Nothing that is in no commit is lost: --hard is not among them
    "reset": Command(
        None,
        Grammar(flags="q", long=_QUIET | {"--soft", "--mixed"}, rest=revision),
    ),
    "rm": Command(
        None, Grammar(flags="rqn", long=_QUIET | {"--cached", "--dry-run"}, rest=path, least=1)
    ),
    "mv": Command(None, Grammar(flags="vn", long=frozenset({"--dry-run"}), rest=path, least=2)),
}
