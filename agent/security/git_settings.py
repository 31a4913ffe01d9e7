"""Settings of git: our own, and those of a repository that are accepted.

Settings of a repository can name programs that any git command starts. A repository that has
anything but a few harmless settings is refused; so is one that leads to another's settings.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from agent.errors import CommandRefused
from agent.security.environment import SANDBOX_HOME, child_environment
from agent.security.paths import HERE, all_beneath, open_beneath
from agent.text.printable import printable_line

FOLDER = ".git"
# Far more than a person writes; git itself writes a few hundred bytes
MAX_SETTINGS_BYTES = 64 * 1024
# Folders and files of one working tree that are looked at
MAX_ENTRIES = 20_000
_MAX_SHOWN_CHARS = 60
# Of the folder .git: what leads to further settings
_ELSEWHERE = frozenset({"commondir", "config.worktree", "modules", "worktrees"})
_SECTION = re.compile(r'\[([a-zA-Z]+)(?: "[^"\\\n]*")?\]')
_SETTING = re.compile(r"([a-zA-Z][a-zA-Z0-9-]*)(?:\s*=\s*([^\\\n]*))?")
# Values and names; nothing of it is a program or a path
_HARMLESS = {
    "core": {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase"}
    | {"precomposeunicode", "symlinks", "autocrlf", "eol", "quotepath"},
    "user": {"name", "email"},
    "remote": {"url", "fetch", "pushurl"},
    "branch": {"remote", "merge", "rebase", "description"},
    "init": {"defaultbranch"},
    "pull": {"rebase", "ff"},
    "color": {"ui"},
}
# Over everything that a repository may say: no program but git itself, and no network
_OVER = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.pager": "cat",
    "core.editor": "false",
    "core.askPass": "false",
    "core.sshCommand": "false",
    "core.alternateRefsCommand": "false",
    "credential.helper": "",
    "diff.ignoreSubmodules": "all",
    "submodule.recurse": "false",
    "protocol.allow": "never",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "gpg.program": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "log.showSignature": "false",
    # What is mapped counts against the limit of memory
    "core.packedGitWindowSize": "8m",
    "core.packedGitLimit": "32m",
}
# Who commits where the repository names nobody: a variable counts more than any setting
_PERSON = {"name": "Barnacle", "email": "barnacle@localhost"}
_OWN_PERSON = "[user]"


def git_environment(folder: Path | None, person: frozenset[str] = frozenset()) -> dict[str, str]:
    """Return git's environment.

    Args:
        folder: the repository's absolute path.
        person: what its settings say of who commits, as `refuse_repository` found it.
    """
    place = {"GIT_DIR": str(folder / FOLDER), "GIT_WORK_TREE": str(folder)} if folder else {}
    ours = {
        f"GIT_{role}_{what.upper()}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in _PERSON.items()
        if what not in person
    }
    fixed = {
        **place,
        **ours,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TEMPLATE_DIR": "",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "false",
        "GIT_CONFIG_COUNT": str(len(_OVER)),
    }
    for number, (name, value) in enumerate(_OVER.items()):
        fixed[f"GIT_CONFIG_KEY_{number}"], fixed[f"GIT_CONFIG_VALUE_{number}"] = name, value
    return {**child_environment(SANDBOX_HOME), **fixed}


def refuse_repository(workspace: Path, folder: str) -> frozenset[str]:
    """Check a repository before git runs on it; return what it says of who commits.

    Raises:
        CommandRefused: it could make git start something, or lead it elsewhere.
        PathRefused: there is no repository, or it is none of plain folders and files.
    """
    inside = FOLDER if folder == HERE else f"{folder}/{FOLDER}"
    entries = all_beneath(workspace, inside, MAX_ENTRIES + 1)
    for entry in entries:
        if entry.name in _ELSEWHERE:
            raise CommandRefused(f"repositories with {FOLDER}/{entry.name} are not supported")
    if len(entries) > MAX_ENTRIES:
        raise CommandRefused(f"{FOLDER} has more than {MAX_ENTRIES} files and folders")
    with open_beneath(workspace, f"{inside}/config") as file:
        person = refuse_settings(file.read(MAX_SETTINGS_BYTES + 1))
    refuse_nested(workspace, folder)
    return person


def refuse_settings(content: bytes) -> frozenset[str]:
    """Return which of name and email are set.

    Raises:
        CommandRefused: at the first setting that is not known to be harmless.
    """
    if len(content) > MAX_SETTINGS_BYTES:
        raise CommandRefused("the repository has too many settings")
    section = heading = ""
    person: set[str] = set()
    for raw in content.decode(errors="replace").split("\n"):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if found := _SECTION.fullmatch(line):
            section, heading = found[1].lower(), line.lower()
            continue
        setting = _SETTING.fullmatch(line)
        if setting is None or setting[1].lower() not in _HARMLESS.get(section, ()):
            shown = printable_line(f"{section}: {line}", _MAX_SHOWN_CHARS)
            raise CommandRefused(f"the repository has a setting that is not allowed: {shown}")
        if heading == _OWN_PERSON and setting[2]:
            person.add(setting[1].lower())
    return frozenset(person)


def refuse_nested(workspace: Path, folder: str) -> None:
    """Raise CommandRefused for a repository inside the repository: git would read it too."""
    left = MAX_ENTRIES
    for names, above in _folders(workspace, folder):
        left -= len(names)
        if above != folder and FOLDER in names:
            raise CommandRefused("it contains another repository with its own settings")
        if left < 0:
            raise CommandRefused(f"it has more than {MAX_ENTRIES} files and folders")


def _folders(workspace: Path, folder: str) -> Iterator[tuple[list[str], str]]:
    """Yield the names in each folder of the working tree."""
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        # Git follows a link, and reads what has a name that we do not take
        entries = all_beneath(workspace, here, MAX_ENTRIES + 1)
        yield [entry.name for entry in entries], here
        waiting.extend(
            entry.name if here == HERE else f"{here}/{entry.name}"
            for entry in entries
            if entry.is_folder and entry.name != FOLDER
        )
