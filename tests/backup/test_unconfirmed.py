"""Approvals out of a backup, set aside and put into effect again."""

from pathlib import Path

import pytest

from agent.backup import unconfirmed
from agent.turn.prompt_files import APPROVALS_FILE, IDENTITY, ProjectFiles


@pytest.fixture
def files(tmp_path: Path) -> ProjectFiles:
    """Files of the prompt, one of them approved."""
    for name in (IDENTITY, "SOUL.md"):
        (tmp_path / name).write_text(f"text of {name}")
    files = ProjectFiles(tmp_path, tmp_path / APPROVALS_FILE)
    approve(files, IDENTITY)
    return files


def approve(files: ProjectFiles, name: str) -> None:
    (digest,) = (one.digest for one in files.every() if one.name == name)
    files.approve(name, digest)


def approved(files: ProjectFiles) -> set[str]:
    return {one.name for one in files.every() if one.is_approved}


def test_a_file_of_the_prompt_counts_again_once_it_is_confirmed(
    files: ProjectFiles, tmp_path: Path
) -> None:
    unconfirmed.set_aside(tmp_path)
    assert approved(files) == set()
    assert [*unconfirmed.sentences(tmp_path)] == [f"file for the prompt: {IDENTITY}"]
    assert unconfirmed.confirm(tmp_path) == 1
    assert approved(files) == {IDENTITY}


def test_a_file_that_was_approved_meanwhile_stays_so(files: ProjectFiles, tmp_path: Path) -> None:
    unconfirmed.set_aside(tmp_path)
    approve(files, "SOUL.md")
    unconfirmed.confirm(tmp_path)
    assert approved(files) == {IDENTITY, "SOUL.md"}


def test_what_is_refused_stays_out(files: ProjectFiles, tmp_path: Path) -> None:
    unconfirmed.set_aside(tmp_path)
    assert unconfirmed.refuse(tmp_path) == 1
    assert unconfirmed.confirm(tmp_path) == 0
    assert approved(files) == set()
