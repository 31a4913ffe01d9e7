import os
from pathlib import Path

import pytest

from agent.health.ownership import exposed, foreign


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    return folder


def test_a_folder_that_is_not_there_has_nothing(tmp_path: Path) -> None:
    assert exposed(tmp_path / "none") == []
    assert foreign(tmp_path / "none") == []


def test_nobody_comes_through_a_closed_folder(state: Path) -> None:
    (state / "agent.db").write_text("")
    (state / "agent.db").chmod(0o666)
    assert exposed(state) == []


def test_an_open_folder_and_open_files_in_it_are_exposed(state: Path) -> None:
    (state / "memory").mkdir(mode=0o700)
    for name, mode in (("agent.db", 0o644), ("audit.jsonl", 0o600), ("memory/brain.db", 0o604)):
        (state / name).write_text("")
        (state / name).chmod(mode)
    state.chmod(0o755)
    assert sorted(exposed(state)) == [state, state / "agent.db", state / "memory/brain.db"]


def test_the_workspace_and_links_are_somebody_elses(state: Path, tmp_path: Path) -> None:
    (state / "workspace").mkdir(mode=0o755)
    (state / "link").symlink_to(tmp_path)
    state.chmod(0o711)
    assert exposed(state) == [state]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of somebody else")
def test_what_another_user_has_left_is_foreign(state: Path) -> None:
    (state / "agent.db").write_text("")
    (state / "lock").write_text("")
    os.chown(state / "lock", 12345, -1)
    assert foreign(state) == [state / "lock"]
