import json
import subprocess
from pathlib import Path

import pytest

from agent.errors import BadArguments, CommandRefused
from agent.messages import Effect, Provenance
from agent.security.git_settings import refuse_settings
from agent.tools.file_edit import FileEditTool
from agent.tools.files import FileWriteTool
from agent.tools.git import GitArguments, GitTool, find_git
from agent.tools.settings import ShellSettings
from agent.tools.shell import Workshop
from tests.fakes.sandbox import EchoingSandbox, bubblewrap, no_bubblewrap
from tests.fakes.workspace import refused, told, used, workspace_in

_REASON = no_bubblewrap() or ("" if find_git() else "git is not installed: apt-get install git")
pytestmark = pytest.mark.skipif(bool(_REASON), reason=_REASON)

# Settings with which some command of git starts something, or goes elsewhere
HOSTILE = [
    *("[core]\n\tfsmonitor = ./evil", "[core]\nsshCommand=./evil", "[core]\npager=./evil"),
    *(
        "[core]\nhooksPath=x",
        "[core]\neditor=./evil",
        "[core]\nworktree=/etc",
        "[core]\ngitProxy=x",
    ),
    *("[alias]\nst=!./evil", "[diff]\nexternal=./evil", '[diff "x"]\ntextconv=./evil'),
    *('[diff "x"]\ncommand=./evil', '[filter "x"]\nclean=./evil', '[merge "x"]\ndriver=./evil'),
    *("[include]\npath=/etc/x", '[includeIf "gitdir:/"]\npath=x', "[credential]\nhelper=!./evil"),
    *("[gpg]\nprogram=./evil", "[pager]\nlog=./evil", "[sequence]\neditor=./evil"),
    *('[remote "x"]\nuploadpack=./evil', '[remote "x"]\npromisor=true', '[url "x"]\ninsteadOf=y'),
    *("[extensions]\nworktreeConfig=true", '[submodule "x"]\nupdate=!./evil', "[interactive]\nx=y"),
    *("[core] fsmonitor=./evil", "[core]\nbare = \\\nfsmonitor=./evil", '[core "x"]x=y', "x=y"),
    *("[core]\nbare=a\\\nb", "[a.b]\nc=d", "[core\nbare=true", "[core]\nbare true", "\ufeff[core]"),
    "[core]\n" + "#" * 70_000,
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return workspace_in(tmp_path)


@pytest.fixture
def git(workspace: Path) -> GitTool:
    return GitTool(Workshop(bubblewrap(workspace), workspace, ShellSettings()))


async def printed(git: GitTool, *argv: str, repository: str = ".") -> str:
    fields = await told(git, argv=argv, repository=repository)
    assert fields["exit"] == 0, fields
    return str(fields["stdout"])


@pytest.fixture
async def repository(git: GitTool, workspace: Path) -> Path:
    """One with a first commit, made by the tool itself."""
    await printed(git, "init", "-b", "main")
    await printed(git, "add", "plan.txt", "notes")
    await printed(git, "commit", "-m", "first")
    return workspace


async def test_a_day_of_work(git: GitTool, repository: Path) -> None:
    (repository / "plan.txt").write_text("pump 7 s\nlamp 30 min\n")
    assert " M plan.txt" in await printed(git, "status", "--short")
    assert "+pump 7 s" in await printed(git, "diff")
    await printed(git, "commit", "-am", "longer; $(reboot)")
    assert "longer; $(reboot)" in await printed(git, "log", "--oneline", "-n", "1")
    assert "pump 5 s" in await printed(git, "show", "HEAD~1:plan.txt")
    await printed(git, "checkout", "-b", "trial")
    await printed(git, "restore", "--source", "HEAD~1", "plan.txt")
    assert (repository / "plan.txt").read_text().startswith("pump 5 s")
    await printed(git, "checkout", "--", "plan.txt")
    await printed(git, "checkout", "main")
    assert "trial" in await printed(git, "branch", "-a")
    await printed(git, "branch", "-d", "trial")
    result = await used(git, argv=["log"])
    assert (result.provenance, result.source) == (Provenance.TOOL, "git")


async def test_hooks_and_attributes_start_nothing(git: GitTool, repository: Path) -> None:
    for hook in ("pre-commit", "post-commit", "post-checkout", "commit-msg", "post-index-change"):
        file = repository / ".git" / "hooks" / hook
        file.parent.mkdir(exist_ok=True)
        file.write_text("#!/bin/sh\necho ran >> ran.txt\n")
        file.chmod(0o755)
    (repository / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    (repository / ".gitconfig").write_text("[alias]\nstatus = !echo ran\n[core]\nfsmonitor=./x\n")
    await printed(git, "add", "-A")
    await printed(git, "commit", "-m", "second")
    await printed(git, "checkout", "-b", "x")
    assert not (repository / "ran.txt").exists()


@pytest.mark.parametrize("settings", HOSTILE, ids=lambda text: text[:30])
async def test_settings_that_start_something_are_not_worked_with(
    git: GitTool, repository: Path, settings: str
) -> None:
    with (repository / ".git" / "config").open("a") as file:
        file.write(f"\n{settings}\n")
    assert "setting" in await refused(git, argv=["status"])


def test_settings_that_git_writes_itself_are_harmless() -> None:
    refuse_settings(b'# mine\n; too\n[core]\n\tbare = false\n[remote "origin"]\n\turl = x:y\n')
    with pytest.raises(CommandRefused, match=r"alias: x = !y"):
        refuse_settings(b"[alias]\nx = !y")


@pytest.mark.parametrize("name", ["commondir", "config.worktree", "modules", "worktrees"])
async def test_what_leads_to_other_settings_is_not_worked_with(
    git: GitTool, repository: Path, name: str
) -> None:
    (repository / ".git" / name).mkdir()
    assert f".git/{name}" in await refused(git, argv=["status"])


async def test_a_repository_in_the_repository_is_refused(git: GitTool, repository: Path) -> None:
    (repository / "notes" / "old" / ".git").mkdir()
    assert "another repository" in await refused(git, argv=["status"])
    (repository / "notes" / ".git").write_text("gitdir: /etc")
    assert "another repository" in await refused(git, argv=["add", "-A"])


async def test_a_folder_of_too_many_files_is_refused(
    git: GitTool, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.security.git_settings.MAX_ENTRIES", 5)
    (repository / ".git" / "hooks").mkdir(exist_ok=True)
    assert "more than 5 files" in await refused(git, argv=["status"])


async def test_only_plain_repositories_of_the_workspace(git: GitTool, workspace: Path) -> None:
    assert "there is no" in await refused(git, argv=["status"])
    outside = workspace.parent / "other"
    command = ["git", "init", "-q", str(outside)]
    subprocess.run(command, check=True, timeout=10)  # noqa: ASYNC221 - it is not what is tested
    (workspace / ".git").symlink_to(outside / ".git")
    assert "link" in await refused(git, argv=["status"])
    assert "already" in await refused(git, argv=["init"])
    with pytest.raises(BadArguments, match="repository"):
        git.parse(json.dumps({"argv": ["status"], "repository": "../other"}))


async def test_one_in_a_folder(git: GitTool, workspace: Path) -> None:
    await printed(git, "init", repository="notes")
    assert "today.md" in await printed(git, "status", "-s", repository="notes/")
    assert not (workspace / ".git").exists()


@pytest.mark.parametrize(
    "line",
    [
        *("-c core.pager=sh log", "--exec-path=. log", "-C / log", "push", "clone x", "fetch"),
        *("pull", "config a b", "submodule foreach sh", "bisect run sh", "grep -Osh x"),
        *("rebase -x sh", "reset --hard", "log --output=x", "diff --no-index /etc/passwd x"),
        *("diff --ext-diff", "log --textconv", "diff /etc/passwd /etc/hosts", "show HEAD:../../x"),
        *("add -p", "add /etc/passwd", "commit -F /etc/passwd", "commit -c x", "commit --amend"),
        *("branch -D x", "branch ../x", "branch x y z", "checkout -f", "restore", "init x"),
        *("init --template=/x", "add a\nb", "init --separate-git-dir=x", "status --ign"),
        *("daemon", "!sh", ""),
    ],
)
def test_the_rest_of_git_is_refused(git: GitTool, line: str) -> None:
    with pytest.raises(BadArguments):
        git.parse(json.dumps({"argv": line.split(" ")}))


@pytest.mark.parametrize(
    ("line", "effect"),
    [
        *(("status", Effect.READ), ("log -p", Effect.READ), ("branch", Effect.READ)),
        *(("branch -av", Effect.READ), ("branch trial", Effect.WRITE), ("add -A", Effect.WRITE)),
        *(("commit -m x", Effect.WRITE), ("checkout main", Effect.WRITE), ("init", Effect.WRITE)),
    ],
)
async def test_its_effect_is_that_of_the_command(
    workspace: Path, line: str, effect: Effect
) -> None:
    sandbox = EchoingSandbox(workspace)
    git = GitTool(Workshop(sandbox, workspace, ShellSettings()))
    arguments = git.parse(json.dumps({"argv": line.split()}))
    assert git.effect_of(arguments) is effect
    if line == "init":
        await git.execute(GitArguments(("init",)), None)  # type: ignore[arg-type]  # it is not looked at
        assert (sandbox.jobs[0].argv, sandbox.jobs[0].writes) == (("git", "init"), True)
        assert "GIT_DIR" not in sandbox.jobs[0].environment


@pytest.mark.parametrize(
    "path", [".git/config", ".git/hooks/pre-commit", "notes/.git/config", ".GIT/config", ".git"]
)
async def test_what_git_obeys_is_not_for_tools_on_files(workspace: Path, path: str) -> None:
    """The owner may use git there as well, and outside of any sandbox."""
    assert "only for git" in await refused(FileWriteTool(workspace), path=path, content="x")
    assert "only for git" in await refused(FileEditTool(workspace), path=path, old="x", new="y")
    assert (await used(FileWriteTool(workspace), path=".gitignore", content="x")).success


@pytest.mark.usefixtures("repository")
async def test_whoever_the_repository_names_has_committed(git: GitTool) -> None:
    who = ("log", "-n", "1", "--format=%an <%ae> %cn <%ce>")
    ours = "Barnacle <barnacle@localhost>"
    assert await printed(git, *who) == f"{ours} {ours}\n"
    await printed(git, "config", "user.name", "Ada Lovelace")
    await printed(git, "commit", "--allow-empty", "-m", "second")
    named = "Ada Lovelace <barnacle@localhost>"
    assert await printed(git, *who) == f"{named} {named}\n"
    await printed(git, "config", "user.email", "ada@example.org")
    await printed(git, "commit", "--allow-empty", "-m", "third")
    named = "Ada Lovelace <ada@example.org>"
    assert await printed(git, *who) == f"{named} {named}\n"
