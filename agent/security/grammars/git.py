"""Grammar of git: one for each of its commands that works on a local repository.

No -c, no path of programs, no editor, no other repository, nothing that goes over a network.
"""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from agent.security.grammars.base import Grammar, number, one_of, path, text
from agent.security.grammars.git_command import GitCommand
from agent.security.grammars.git_views import LOOKING
from agent.security.grammars.git_words import (
    CHOSEN,
    LISTS,
    LOG,
    OPTIONAL,
    SHOWN,
    WHEN,
    name,
    revision,
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
    """Accept a setting by its name; newer git reads a word without a dot as a command."""
    return "" if _SETTING.fullmatch(word) else f"{word[:40]!r} is not the name of a setting"


def _plain(word: str) -> str:
    return "" if _VALUE.fullmatch(word) else "it has a character with a meaning in settings"


def _options_first(grammar: Grammar) -> Grammar:
    """Accept no option behind an operand: git config takes it for the value, and writes it."""

    def complaint(words: Sequence[str]) -> str:
        behind = itertools.dropwhile(lambda word: word.startswith("-"), words)
        late = next((word for word in behind if word.startswith("-")), "")
        return f"{late[:40]!r} must stand first" if late else grammar.complaint(words)

    return Grammar(reads=complaint)


def _listing(grammar: Grammar) -> Callable[[Sequence[str]], str]:
    """Accept names only as patterns of a list; elsewhere git would create them."""
    with_patterns = replace(grammar, rest=text)

    def complaint(words: Sequence[str]) -> str:
        whole = [*words, "HEAD"] if words and words[-1] in _MERGED else words
        asked = _LISTING.intersection(words)
        return (with_patterns if asked else grammar).complaint(whole)

    return complaint


CHANGING: Mapping[str, GitCommand] = {
    "config": GitCommand(
        _options_first(
            Grammar(
                flags="lz",
                long=frozenset({"--list", "--get", "--get-all", "--local", "--show-origin"})
                | {"--name-only", "--show-scope"},
                words=(_setting,),
            )
        ),
        _options_first(
            Grammar(
                long=frozenset({"--local"}),
                words=(one_of("user.name", "user.email"), _plain),
                least=2,
            )
        ),
    ),
    "branch": GitCommand(
        # With these it only lists; with a name or -d it changes something
        Grammar(reads=_listing(_BRANCHES)),
        Grammar(
            flags="dmcq",
            long=frozenset({"--delete", "--move", "--copy", "--quiet", "--no-track", "--track"}),
            words=(name, revision),
            least=1,
        ),
    ),
    "tag": GitCommand(
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
    "stash": GitCommand(
        None,
        Grammar(flags="uakq", long=_QUIET | {"--include-untracked", "--all", "--keep-index"}),
        beneath={
            "list": GitCommand(LOG),
            "show": GitCommand(
                Grammar(
                    flags="pu",
                    long=SHOWN | {"--include-untracked", "--only-untracked"},
                    valued=CHOSEN,
                    attached=OPTIONAL,
                    words=_STASH,
                )
            ),
            "push": GitCommand(
                None,
                Grammar(
                    flags="uakqS",
                    long=_QUIET | {"--include-untracked", "--all", "--keep-index", "--staged"},
                    valued={"-m": text, "--message": text},
                    rest=path,
                ),
            ),
            "pop": GitCommand(None, Grammar(flags="q", long=_QUIET | {"--index"}, words=_STASH)),
            "apply": GitCommand(None, Grammar(flags="q", long=_QUIET | {"--index"}, words=_STASH)),
            "drop": GitCommand(None, Grammar(flags="q", long=_QUIET, words=_STASH)),
        },
    ),
    "init": GitCommand(None, Grammar(flags="q", valued={"-b": name, "--initial-branch": name})),
    "add": GitCommand(
        None,
        Grammar(
            flags="AuvnN",
            long=frozenset({"--all", "--update", "--verbose", "--dry-run", "--intent-to-add"}),
            rest=path,
        ),
    ),
    "commit": GitCommand(
        None,
        Grammar(
            flags="aqv",
            long=_QUIET | {"--all", "--allow-empty", "--dry-run", "--short"},
            valued={"-m": text, "--message": text, "--author": text, "--date": text},
            rest=path,
        ),
    ),
    "checkout": GitCommand(
        None,
        Grammar(
            flags="q",
            long=_QUIET | {"--detach", "--ours", "--theirs", "--no-track"},
            valued={"-b": name},
            # The branch before, too: `-` is a name like others
            rest=revision,
        ),
    ),
    "switch": GitCommand(
        None,
        Grammar(
            flags="qd",
            long=_QUIET | {"--detach", "--no-track"},
            valued={"-c": name, "--create": name},
            words=(revision,),
        ),
    ),
    # Not -s, which names a program; the ways of joining that git has itself are few
    "merge": GitCommand(
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
    "cherry-pick": GitCommand(
        None, Grammar(flags="xn", long=_SEQUENCE, valued={"-m": number}, rest=revision)
    ),
    "revert": GitCommand(
        None,
        Grammar(flags="n", long=_SEQUENCE | {"--no-edit"}, valued={"-m": number}, rest=revision),
    ),
    "restore": GitCommand(
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
    "reset": GitCommand(
        None,
        Grammar(flags="q", long=_QUIET | {"--soft", "--mixed"}, rest=revision),
    ),
    "rm": GitCommand(
        None, Grammar(flags="rqn", long=_QUIET | {"--cached", "--dry-run"}, rest=path, least=1)
    ),
    "mv": GitCommand(None, Grammar(flags="vn", long=frozenset({"--dry-run"}), rest=path, least=2)),
}


COMMANDS: Mapping[str, GitCommand] = {**LOOKING, **CHANGING}


def complaint(argv: Sequence[str]) -> str:
    """Return the reason to refuse these words; "" if git may get them."""
    name, *words = argv
    if name not in COMMANDS:
        allowed = ", ".join(sorted(COMMANDS))
        return f"{name[:40]!r} is not an allowed git command; allowed are: {allowed}"
    found = COMMANDS[name].complaint(words)
    return found and f"git {name} is refused: {found}"


def only_looks(argv: Sequence[str]) -> bool:
    """Return true if the command changes nothing; a refused command returns false."""
    name, *words = argv
    return name in COMMANDS and COMMANDS[name].only_looks(words)
