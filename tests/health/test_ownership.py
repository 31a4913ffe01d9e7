import os
from pathlib import Path

import pytest

from agent.health.ownership import exposed, foreign, give_back, take_from_others


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


def test_what_is_exposed_is_closed(state: Path) -> None:
    (state / "memory").mkdir(mode=0o755)
    (state / "memory/brain.db").write_text("")
    (state / "memory/brain.db").chmod(0o644)
    state.chmod(0o755)
    assert take_from_others(state) == 3
    assert exposed(state) == []
    assert (state / "memory/brain.db").stat().st_mode & 0o777 == 0o640


def test_a_file_with_a_second_name_is_not_touched(state: Path, tmp_path: Path) -> None:
    """The other name may be anywhere: root would open somebody else's file to the agent."""
    other = tmp_path / "shadow"
    other.write_text("")
    other.chmod(0o644)
    (state / "mine").hardlink_to(other)
    state.chmod(0o711)
    take_from_others(state)
    assert other.stat().st_mode & 0o777 == 0o644


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to somebody")
def test_only_plain_files_and_folders_are_given_back(state: Path, tmp_path: Path) -> None:
    other = tmp_path / "shadow"
    other.write_text("")
    (state / "second").hardlink_to(other)
    (state / "link").symlink_to(other)
    (state / "agent.db").write_text("")
    os.mkfifo(state / "pipe")
    os.chown(state, 12345, 12345)
    assert give_back(state) == 1
    assert other.stat().st_uid == 0
    assert (state / "agent.db").stat().st_uid == 12345
    assert (state / "agent.db").stat().st_gid == 12345
