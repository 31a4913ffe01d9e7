"""Git commands that only look, with any allowed words."""

import re
from collections.abc import Mapping, Sequence

from agent.security.grammars.base import Grammar, number, one_of, path, text
from agent.security.grammars.git_command import GitCommand
from agent.security.grammars.git_words import (
    CHOSEN,
    LISTED,
    LOG,
    OPTIONAL,
    SHOWN,
    WALKED,
    lines,
    name,
    revision,
    shown_format,
)

_DRY = re.compile(r"-[ndxXq]+|--dry-run")


def _dry(words: Sequence[str]) -> str:
    """Accept `clean` only with -n, which removes nothing whatever else is said."""
    options = [word for word in words if _DRY.fullmatch(word)]
    if not any(word == "--dry-run" or "n" in word for word in options):
        return "only with -n, which shows what it would remove"
    others = (path(word) for word in words if word not in options)
    return next((complaint for complaint in others if complaint), "")


LOOKING: Mapping[str, GitCommand] = {
    "--version": GitCommand(Grammar()),
    "version": GitCommand(Grammar()),
    "status": GitCommand(
        Grammar(
            flags="sbvz",
            long=frozenset(
                {
                    *("--short", "--branch", "--long", "--ignored", "--ignore-submodules=all"),
                    *("--show-stash", "--verbose", "--no-renames", "--ahead-behind"),
                    *("--no-ahead-behind", "--renames"),
                }
            ),
            attached={
                **dict.fromkeys(("-u", "--untracked-files"), one_of("no", "normal", "all")),
                "--porcelain": one_of("v1", "v2", "1", "2"),
                "--column": one_of("always", "never", "auto", "plain", "row"),
            },
            rest=path,
        )
    ),
    "log": GitCommand(LOG),
    "whatchanged": GitCommand(LOG),
    "diff": GitCommand(
        Grammar(
            flags="pwbRzsMCW",
            long=SHOWN | {"--cached", "--staged", "--merge-base", "--base", "--ours", "--theirs"},
            valued=CHOSEN,
            attached=OPTIONAL,
            rest=revision,
        )
    ),
    "show": GitCommand(
        Grammar(
            flags="pswzMC",
            long=SHOWN | {"--oneline", "--abbrev-commit", "--no-decorate", "--first-parent"},
            valued={**CHOSEN, "--format": shown_format, "--date": text},
            attached=OPTIONAL,
            rest=revision,
        )
    ),
    "blame": GitCommand(
        Grammar(
            flags="bcefklnpstwMC",
            long=frozenset(
                {
                    *("--porcelain", "--line-porcelain", "--show-email", "--show-name"),
                    *("--show-number", "--root", "--first-parent", "--incremental"),
                    *("--show-stats", "--no-progress"),
                }
            ),
            valued={"-L": lines, "--since": text, "--date": text},
            attached={"--abbrev": number},
            words=(revision, revision),
            rest=revision,
            least=1,
        )
    ),
    "shortlog": GitCommand(
        Grammar(
            flags="sne",
            long=frozenset({"--summary", "--numbered", "--email", "--all", "--no-merges"}),
            valued={
                **{word: kind for word, kind in LISTED.items() if word != "-n"},
                "--group": one_of("author", "committer"),
            },
            rest=revision,
        )
    ),
    "reflog": GitCommand(
        Grammar(
            flags="0123456789",
            long=frozenset({"--all", "--oneline"}),
            valued={"-n": number, "--max-count": number, "--date": text},
            words=(one_of("show", "HEAD", "main", "master"), revision),
        )
    ),
    "rev-parse": GitCommand(
        Grammar(
            flags="q",
            long=frozenset(
                {
                    *("--show-toplevel", "--git-dir", "--absolute-git-dir", "--show-prefix"),
                    *("--is-inside-work-tree", "--is-bare-repository", "--verify", "--quiet"),
                    *("--symbolic-full-name", "--symbolic", "--all", "--show-cdup", "--tags"),
                    *("--is-inside-git-dir", "--is-shallow-repository", "--remotes"),
                    *("--show-object-format", "--sq"),
                }
            ),
            attached={
                "--abbrev-ref": one_of("strict", "loose"),
                "--short": number,
                "--branches": text,
            },
            rest=revision,
        )
    ),
    "rev-list": GitCommand(
        Grammar(
            flags="0123456789",
            long=WALKED | {"--count", "--objects", "--quiet"},
            valued=LISTED,
            rest=revision,
        )
    ),
    "ls-files": GitCommand(
        Grammar(
            flags="cdmosiuktvz",
            long=frozenset(
                {
                    *("--cached", "--deleted", "--modified", "--others", "--stage", "--ignored"),
                    *("--unmerged", "--killed", "--exclude-standard", "--full-name", "--eol"),
                    *("--error-unmatch", "--directory", "--no-empty-directory", "--deduplicate"),
                }
            ),
            valued={"-x": text, "--exclude": text},
            attached={"--abbrev": number},
            rest=path,
        )
    ),
    "ls-tree": GitCommand(
        Grammar(
            flags="drtlz",
            long=frozenset(
                {"--name-only", "--name-status", "--long", "--full-name", "--full-tree"}
                | {"--object-only"}
            ),
            attached={"--abbrev": number},
            words=(revision,),
            rest=path,
            least=1,
        )
    ),
    "cat-file": GitCommand(Grammar(flags="tspe", words=(revision,), least=1)),
    "merge-base": GitCommand(
        Grammar(
            flags="a",
            long=frozenset({"--all", "--is-ancestor", "--fork-point", "--octopus"}),
            rest=revision,
            least=1,
        )
    ),
    "describe": GitCommand(
        Grammar(
            long=frozenset(
                {"--tags", "--always", "--long", "--all", "--exact-match", "--first-parent"}
                | {"--contains"}
            ),
            valued={"--match": text, "--exclude": text, "--candidates": number},
            attached={"--abbrev": number, "--dirty": text},
            rest=revision,
        )
    ),
    "count-objects": GitCommand(
        Grammar(flags="vH", long=frozenset({"--verbose", "--human-readable"}))
    ),
    "show-ref": GitCommand(
        Grammar(
            flags="dhq",
            long=frozenset({"--heads", "--tags", "--head", "--verify", "--dereference"}),
            rest=revision,
        )
    ),
    "name-rev": GitCommand(
        Grammar(long=frozenset({"--name-only", "--tags"}), rest=revision, least=1)
    ),
    # Not -O, which opens what it finds in a program, and not -f
    "grep": GitCommand(
        Grammar(
            flags="acEFGhHiIlLnoPpqrvwWz0123456789",
            long=frozenset(
                {
                    *("--count", "--ignore-case", "--line-number", "--files-with-matches"),
                    *("--name-only", "--word-regexp", "--invert-match", "--heading", "--break"),
                    *("--cached", "--untracked", "--show-function", "--all-match", "--text"),
                    *("--extended-regexp", "--fixed-strings", "--perl-regexp", "--full-name"),
                    *("--files-without-match", "--only-matching", "--and", "--or", "--not"),
                    *("--column", "--no-color", "--color=auto", "--color=never"),
                }
            ),
            valued={
                "-e": text,
                **dict.fromkeys(("-A", "-B", "-C", "--max-depth", "-m"), number),
                **dict.fromkeys(("--after-context", "--before-context", "--context"), number),
            },
            words=(text,),
            rest=revision,
            least=1,
            given_by=frozenset({"-e"}),
        )
    ),
    "remote": GitCommand(
        Grammar(flags="v", long=frozenset({"--verbose"})),
        beneath={
            "get-url": GitCommand(
                Grammar(long=frozenset({"--all", "--push"}), words=(name,), least=1)
            )
        },
    ),
    "clean": GitCommand(Grammar(reads=_dry)),
}
