"""What the agent keeps is for its owner alone, whatever the folder was and whoever started it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.chat_process import ChatProcess
from tests.fakes.daemon_process import DaemonProcess


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def open_to_others(state: Path) -> list[str]:
    """Every file and folder with a right for group or others; sockets say themselves who may."""
    found = []
    for path in sorted(state.rglob("*")):
        if path.is_socket() or path.is_symlink():
            continue
        if path.stat().st_mode & 0o077:
            found.append(f"{path.relative_to(state)} {path.stat().st_mode & 0o777:o}")
    return found


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A folder that somebody made by hand, with what an older version left in it."""
    folder = tmp_path / "state"
    folder.mkdir(mode=0o755)
    for name in ("agent.db.corrupt.20260101T000000", "chat.log", "old.json"):
        (folder / name).write_text("")
    (folder / "memory").mkdir(mode=0o755)
    (folder / "memory" / "2025.jsonl").touch(0o644)
    (tmp_path / "barnacle.toml").touch(0o600)
    return folder


def test_a_daemon_closes_what_was_open_and_leaves_nothing_open(tmp_path: Path, state: Path) -> None:
    assert len(open_to_others(state)) == 5
    with DaemonProcess(tmp_path) as daemon:
        assert open_to_others(state) == []
        assert state.stat().st_mode & 0o777 == 0o710
        assert daemon.stop() == 0
        assert open_to_others(state) == []
        assert "state folder: closed to others (files=6," in daemon.log()


def test_a_chat_leaves_nothing_open(tmp_path: Path, state: Path) -> None:
    with ChatProcess(tmp_path, "") as chat:
        chat.say("/help")
        assert open_to_others(state) == []
        assert (state / "chat.log").stat().st_mode & 0o777 == 0o600
