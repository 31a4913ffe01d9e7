import os
from pathlib import Path

import pytest

from agent.errors import CommandRefused, PathRefused
from agent.security import git_settings
from agent.security.git_settings import (
    git_environment,
    refuse_nested,
    refuse_repository,
    refuse_settings,
)

HARMLESS = {
    "core": (
        *("repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase"),
        *("precomposeunicode", "symlinks", "autocrlf", "eol", "quotepath"),
    ),
    "user": ("name", "email"),
    'remote "origin"': ("url", "fetch", "pushurl"),
    'branch "main"': ("remote", "merge", "rebase", "description"),
    "init": ("defaultBranch",),
    "pull": ("rebase", "ff"),
    "color": ("ui",),
}


@pytest.mark.parametrize("section", HARMLESS)
def test_settings_that_start_nothing_are_taken(section: str) -> None:
    for name in HARMLESS[section]:
        refuse_settings(f"# by git\n; too\n\n[{section}]\n\t{name} = x\n".encode())
        with pytest.raises(CommandRefused, match="not allowed"):
            refuse_settings(f"[filter]\n\t{name} = x\n".encode())


@pytest.mark.parametrize(
    "line",
    ["fsmonitor = sh", "hooksPath=x", "pager = sh", "editor=sh", "sshCommand=sh", "worktree=/"],
)
def test_settings_that_could_start_something_are_refused(line: str) -> None:
    with pytest.raises(CommandRefused, match="not allowed"):
        refuse_settings(f"[core]\n{line}\n".encode())


@pytest.mark.parametrize(
    ("settings", "person"),
    [
        ("[user]\nname = Ada\n[core]\nbare = false\n[USER]\nEmail=a@b", {"name", "email"}),
        # Git would have nobody there
        ("[user]\nname\nemail =", set()),
        ('[user "x"]\nname = Ada\n[remote "o"]\nurl = u', set()),
    ],
)
def test_it_is_told_what_a_repository_says_of_who_commits(settings: str, person: set[str]) -> None:
    assert refuse_settings(settings.encode()) == person


def test_settings_have_an_end() -> None:
    refuse_settings(b"#" * 65536)
    with pytest.raises(CommandRefused, match="too many settings"):
        refuse_settings(b"#" * 65537)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("[core]\n\tbare = false\n")
    (tmp_path / "src").mkdir()
    return tmp_path


def test_a_plain_repository_is_worked_on(repository: Path) -> None:
    (repository / "modules").mkdir()
    refuse_repository(repository, ".")


@pytest.mark.parametrize("name", ["commondir", "config.worktree", "modules", "worktrees"])
def test_what_leads_to_further_settings_is_refused(repository: Path, name: str) -> None:
    (repository / ".git" / name).touch()
    with pytest.raises(CommandRefused, match=name):
        refuse_repository(repository, ".")


@pytest.mark.parametrize("name", ["commondir", "config.worktree", "modules", "worktrees"])
def test_a_link_leads_to_further_settings_as_well(repository: Path, name: str) -> None:
    """Git follows it."""
    (repository / ".git" / name).symlink_to("../src")
    with pytest.raises(CommandRefused, match=name):
        refuse_repository(repository, ".")


def test_what_leads_elsewhere_does_not_hide_behind_many_files(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_settings, "MAX_ENTRIES", 4)
    for number in range(4):
        (repository / ".git" / str(number)).touch()
    with pytest.raises(CommandRefused, match=r"\.git has more than 4"):
        refuse_repository(repository, ".")


def test_a_link_to_a_repository_is_another_repository(repository: Path) -> None:
    (repository / "src" / ".git").symlink_to("../.git")
    with pytest.raises(CommandRefused, match="another repository"):
        refuse_nested(repository, ".")


def test_a_folder_whose_name_is_refused_hides_no_repository(repository: Path) -> None:
    (repository / "src" / os.fsdecode(b"\xff") / ".git").mkdir(parents=True)
    with pytest.raises(PathRefused, match="invisible"):
        refuse_nested(repository, ".")


def test_a_repository_in_the_repository_is_refused_however_deep(repository: Path) -> None:
    (repository / "src" / "deep").mkdir()
    refuse_nested(repository, ".")
    (repository / "src" / "deep" / ".git").touch()
    with pytest.raises(CommandRefused, match="another repository"):
        refuse_nested(repository, ".")


def test_a_tree_may_have_as_many_files_as_are_looked_at(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_settings, "MAX_ENTRIES", 4)
    for name in ("a", "b"):
        (repository / "src" / name).touch()
    # .git, src, a and b
    refuse_nested(repository, ".")
    (repository / "src" / "c").touch()
    with pytest.raises(CommandRefused, match="more than 4 files"):
        refuse_nested(repository, ".")


def test_a_folder_with_more_than_is_looked_at_is_refused(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_settings, "MAX_ENTRIES", 4)
    # .git, src and these
    for name in ("a", "b", "c"):
        (repository / name).touch()
    with pytest.raises(CommandRefused, match="more than 4 files"):
        refuse_nested(repository, ".")


def test_git_works_on_the_repository_that_was_looked_at_and_finds_no_other(tmp_path: Path) -> None:
    environment = git_environment(tmp_path)
    assert environment["GIT_DIR"] == f"{tmp_path}/.git"
    assert environment["GIT_WORK_TREE"] == str(tmp_path)
    assert not git_environment(None).keys() & {"GIT_DIR", "GIT_WORK_TREE"}


def test_a_tree_has_an_end(repository: Path) -> None:
    for number in range(20_000):
        (repository / "src" / str(number)).touch()
    with pytest.raises(CommandRefused, match="more than 20000 files"):
        refuse_nested(repository, ".")


def test_of_a_setting_that_is_refused_the_beginning_is_shown() -> None:
    with pytest.raises(CommandRefused) as refused:
        refuse_settings(f"[core]\npager = {'x' * 500}\n".encode())
    assert 30 < str(refused.value).count("x") <= 60
