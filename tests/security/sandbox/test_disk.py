"""Room on the disk while a program runs, and files of the workspace that are also elsewhere."""

import asyncio
import os
from pathlib import Path

import pytest

from agent.errors import SandboxBroken
from agent.security.sandbox import disk as sandbox_disk
from agent.security.sandbox.disk import (
    MAX_WRITTEN_BYTES,
    MIN_FREE_BYTES,
    DiskGuard,
    free_bytes,
    refuse_foreign_names,
)
from tests.waits import PATIENCE_S

PLENTY = MIN_FREE_BYTES + 10 * MAX_WRITTEN_BYTES


def begun(
    free: int, monkeypatch: pytest.MonkeyPatch, *, is_counted: bool = True
) -> tuple[DiskGuard, list[str]]:
    ended: list[str] = []
    room = DiskGuard(Path("/nowhere"), lambda: ended.append("ended"), is_counted=is_counted)
    monkeypatch.setattr(sandbox_disk, "free_bytes", lambda _: free)
    room.begin()
    return room, ended


def test_what_takes_too_much_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    room, ended = begun(PLENTY, monkeypatch)
    room.look(PLENTY - MAX_WRITTEN_BYTES)
    assert (room.overrun, ended) == ("", [])
    room.look(PLENTY - MAX_WRITTEN_BYTES - 1)
    assert room.overrun.startswith("it wrote more than 64 MB")
    assert ended == ["ended"]


def test_what_others_write_ends_no_program_that_runs_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody knows whose bytes they are; only the room that is left counts."""
    room, ended = begun(PLENTY, monkeypatch, is_counted=False)
    room.look(MIN_FREE_BYTES)
    assert (room.overrun, ended) == ("", [])
    room.look(MIN_FREE_BYTES - 1)
    assert ended == ["ended"]


def test_what_leaves_too_little_is_ended_whoever_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    room, ended = begun(MIN_FREE_BYTES, monkeypatch)
    room.look(MIN_FREE_BYTES - 1)
    assert room.overrun.startswith("less than 128 MB of the disk were left")
    assert ended == ["ended"]


def test_without_room_nothing_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SandboxBroken, match=r"127 MB left.*needs 128 MB.*remove files"):
        begun(MIN_FREE_BYTES - 1, monkeypatch)


async def test_what_writes_nothing_is_not_watched() -> None:
    room = DiskGuard(None, lambda: None)
    room.begin()
    async with asyncio.timeout(1):
        await room.watch()
    assert room.overrun == ""


async def test_the_disk_is_looked_at_until_a_program_has_taken_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sandbox_disk, "LOOK_S", 0.001)
    room, ended = begun(PLENTY, monkeypatch)
    left = iter([PLENTY, PLENTY - 1, 0])
    monkeypatch.setattr(sandbox_disk, "free_bytes", lambda _: next(left))
    async with asyncio.timeout(PATIENCE_S):
        await room.watch()
    assert ended == ["ended"]
    assert next(left, None) is None


def test_the_room_is_that_of_the_disk(tmp_path: Path) -> None:
    assert free_bytes(tmp_path) > 0


def test_a_second_name_counts_where_it_is_outside(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "a" / "b").mkdir(parents=True)
    (workspace / "plain.txt").write_text("x")
    (workspace / "link").symlink_to("/etc")
    (workspace / "a" / "one.txt").write_text("x")
    (workspace / "a" / "b" / "two.txt").hardlink_to(workspace / "a" / "one.txt")
    refuse_foreign_names(workspace)
    (tmp_path / "three.txt").hardlink_to(workspace / "a" / "one.txt")
    with pytest.raises(SandboxBroken, match="replace it with a copy"):
        refuse_foreign_names(workspace)
    refuse_foreign_names(tmp_path / "nowhere")


def test_more_files_than_can_be_looked_at_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        (tmp_path / f"{number}.txt").touch()
    monkeypatch.setattr(sandbox_disk, "MAX_ENTRIES", 4)
    refuse_foreign_names(tmp_path)
    monkeypatch.setattr(sandbox_disk, "MAX_ENTRIES", 3)
    with pytest.raises(SandboxBroken, match="more than 3 files"):
        refuse_foreign_names(tmp_path)


def test_the_last_byte_of_the_room_is_not_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    room, ended = begun(MIN_FREE_BYTES, monkeypatch)
    room.look(MIN_FREE_BYTES)
    assert (room.overrun, ended) == ("", [])


def test_the_disk_is_looked_at_often_and_the_workspace_whole() -> None:
    assert (sandbox_disk.LOOK_S, sandbox_disk.MAX_ENTRIES) == (0.1, 100_000)


def test_a_link_with_two_names_holds_nothing_of_others(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    root.mkdir()
    outside.symlink_to("/etc/passwd")
    os.link(outside, root / "link", follow_symlinks=False)
    refuse_foreign_names(root)
