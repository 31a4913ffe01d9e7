"""Two corpora: what people type every day is accepted, and what does harm never is.

Everyday commands also meet the programs themselves: what is accepted here, they understand.
"""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.errors import CommandRefused
from agent.security.argv import accepted, refuse_unreadable
from agent.security.environment import child_environment
from agent.security.git_settings import git_environment
from agent.security.grammars import git
from agent.security.sandbox.base import SandboxJob
from agent.tools.git import find_git
from agent.tools.settings import PROGRAMS
from tests.fakes.sandbox import bubblewrap, no_bubblewrap
from tests.fakes.workspace import workspace_in

_HERE = Path(__file__).parents[1] / "security"
EVERYDAY = [
    shlex.split(line)
    for line in (_HERE / "everyday_commands.txt").read_text().splitlines()
    if not line.startswith("#")
]
HOSTILE = [
    [str(word) for word in json.loads(line)]
    for line in (_HERE / "hostile_commands.jsonl").read_text().splitlines()
]
MOST_REFUSED = 0.02
_REASON = no_bubblewrap() or ("" if find_git() else "git is not installed: apt-get install git")
needs_programs = pytest.mark.skipif(bool(_REASON), reason=_REASON)
# What a program says of words that it does not know
_NOT_UNDERSTOOD = (
    *("unrecognized option", "invalid option", "unknown option", "Unknown option", "usage:"),
    *("Usage:", "unknown predicate", "unknown switch", "Unknown arguments", "is ambiguous"),
    *("compile error", "syntax error", "invalid number", "unknown argument"),
)


def complaint_about(words: Sequence[str]) -> str:
    """Return the reason why neither `shell` nor `git` runs it; empty where it is run."""
    try:
        if words and words[0] == "git":
            refuse_unreadable(words[1:])
            return git.complaint(words[1:])
        accepted(words, PROGRAMS)
    except CommandRefused as err:
        return str(err)
    return ""


def test_what_people_type_every_day_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    refused = {shlex.join(words): complaint_about(words) for words in EVERYDAY}
    refused = {line: complaint for line, complaint in refused.items() if complaint}
    share = len(refused) / len(EVERYDAY)
    with capsys.disabled():
        print(f"\neveryday commands: {len(refused)} of {len(EVERYDAY)} refused ({share:.1%})")  # noqa: T201 - the figure is what the corpus is for
    assert len({shlex.join(words) for words in EVERYDAY}) == len(EVERYDAY) >= 300
    assert share <= MOST_REFUSED, refused


def test_nothing_hostile_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    allowed = [words for words in HOSTILE if not complaint_about(words)]
    with capsys.disabled():
        print(f"\nhostile commands: {len(allowed)} of {len(HOSTILE)} allowed")  # noqa: T201 - the figure is what the corpus is for
    assert len({json.dumps(words) for words in HOSTILE}) == len(HOSTILE) >= 700
    assert allowed == []


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """All that the everyday commands name."""
    root = workspace_in(tmp_path)
    for name in ("old.txt", "sizes.txt", "versions.txt", "data.tsv", "pump.log"):
        (root / name).write_text("pump 5 s\n1K\n2.0\n")
    (root / "data.csv").write_text("name,value\npump,5\n")
    (root / "a.json").write_text('{"a": {"b": 1}, "on": true, "name": "x", "env": {"name": 1}}')
    (root / "list.json").write_text('[{"name": "pump", "value": 5, "on": true}]')
    (root / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (root / "old").mkdir()
    return root


@needs_programs
@pytest.mark.timeout(60)  # a process in namespaces of its own for each of them
async def test_the_programs_understand_what_is_accepted(workspace: Path) -> None:
    sandbox, environment = bubblewrap(workspace), child_environment(workspace)
    for words in EVERYDAY:
        if words[0] == "git" or complaint_about(words):
            continue
        done = await sandbox.run(SandboxJob(words, environment, "."))
        said = done.stderr.decode(errors="replace")
        assert done.exit is not None, words
        assert not any(one in said for one in _NOT_UNDERSTOOD), (words, said)


@needs_programs
@pytest.mark.timeout(60)  # a process in namespaces of its own for each of them
async def test_git_understands_what_is_accepted(workspace: Path) -> None:
    sandbox = bubblewrap(workspace)
    environment = git_environment(workspace)
    begun = [
        *(["init", "-b", "main"], ["add", "."], ["commit", "-m", "first"]),
        *(["commit", "--allow-empty", "-m", "second"], ["tag", "v0.1"]),
        *(["branch", "trial"], ["config", "user.name", "Anna"]),
    ]
    for words in begun:
        place = git_environment(None) if words[0] == "init" else environment
        done = await sandbox.run(SandboxJob(["git", *words], place, ".", writes=True))
        assert done.exit == 0, (words, done)
    for words in EVERYDAY:
        if words[0] != "git" or complaint_about(words) or words[1] == "init":
            continue
        done = await sandbox.run(
            SandboxJob(words, environment, ".", writes=not git.only_looks(words[1:]))
        )
        said = done.stderr.decode(errors="replace")
        assert not any(one in said for one in _NOT_UNDERSTOOD), (words, said)
