"""Stamps: what is made, what is not, and one at a time."""

import fcntl
import multiprocessing
from pathlib import Path

from scripts.lib import stamps


def test_a_stamp_vouches_for_its_key_alone(tmp_path: Path) -> None:
    stamp = tmp_path / "folder" / ".made"
    assert not stamps.is_current(stamp, "key")
    stamps.write(stamp, "key")
    assert stamps.is_current(stamp, "key")
    assert not stamps.is_current(stamp, "other")
    assert [path.name for path in stamp.parent.iterdir()] == [".made"]


def test_a_key_changes_with_every_content_and_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    file.write_text("one")
    before = stamps.key_of("x", file)
    file.write_text("two")
    assert stamps.key_of("x", file) != before
    assert stamps.key_of("ab", "c") != stamps.key_of("a", "bc")


def _append_under_lock(lock: Path, diary: Path) -> None:
    with stamps.exclusive(lock, on_wait=lambda: None):
        for word in ("in", "out"):
            with diary.open("a") as file:
                file.write(f"{word}\n")


def test_only_one_is_inside(tmp_path: Path) -> None:
    lock, diary = tmp_path / "lock", tmp_path / "diary"
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=_append_under_lock, args=(lock, diary)) for _ in range(3)]
    with stamps.exclusive(lock, on_wait=lambda: None):
        for other in others:
            other.start()
        diary.write_text("alone\n")
    for other in others:
        other.join()
    assert diary.read_text().split() == ["alone", *["in", "out"] * 3]


def test_waiting_is_said(tmp_path: Path) -> None:
    said: list[str] = []

    def give_way() -> None:
        said.append("waiting")
        # Only then does the holder let go
        holder.close()

    holder = (tmp_path / "lock").open("a")
    fcntl.flock(holder, fcntl.LOCK_EX)
    with stamps.exclusive(tmp_path / "lock", on_wait=give_way):
        said.append("inside")
    assert said == ["waiting", "inside"]
