"""F01: power lost at any operation of writing a state file leaves the old or the new one, whole."""

import errno
import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.errors import StorageFull
from agent.storage.documents import open_documents
from agent.storage.files import remove_stale_temps, write_atomic
from agent.storage.lock import hold
from tests.fakes.cut_disk import CutDisk, PowerCut, State

NAME = "state.json"
OLD, NEW = b'{"old": "content"}', b'{"new": "content, and more of it"}'

Write = Callable[[Path], None]


def written(path: Path) -> None:
    write_atomic(path, NEW)


def rewritten(path: Path) -> None:
    """What must not be done."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(NEW)
        os.fsync(file.fileno())


def renamed_unsynced(path: Path) -> None:
    """Nor this."""
    temp = path.with_name("temp")
    with os.fdopen(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(NEW)
    temp.replace(path)


def inserted(path: Path) -> None:
    open_documents(path).insert({"name": "new"})


def folder_with(folder: Path, state: State) -> Path:
    folder.mkdir()
    for name, content in state.items():
        (folder / name).touch(0o600)
        (folder / name).write_bytes(content)
    return folder


def end_states(folder: Path, before: State, write: Write) -> list[State]:
    """Of a cut at every operation, and of one right after the last."""
    found: list[State] = []
    for number in itertools.count(1):
        place = folder_with(folder / f"{number}", before)
        with CutDisk(place, number, PowerCut()) as disk:
            write(place / NAME)
        found += disk.states()
        if not disk.has_failed:
            assert len(disk.done) >= 4
            return found
    raise AssertionError("it never ends")


@pytest.mark.parametrize("half", [{}, {f"{NAME}.part": b"half of"}], ids=["clean", "cut before"])
@pytest.mark.parametrize("old", [{}, {NAME: OLD}], ids=["first", "again"])
def test_cut_at_any_operation_the_file_is_the_old_or_the_new_one(
    tmp_path: Path, old: State, half: State
) -> None:
    states = end_states(tmp_path, {**old, **half}, written)
    assert {state.get(NAME) for state in states} == {old.get(NAME), NEW}
    # What else there is, is what the next start removes
    others = {name for state in states for name in state} - {NAME}
    assert others
    assert all(name.endswith(".part") for name in others)


@pytest.mark.parametrize("careless", [rewritten, renamed_unsynced])
def test_the_same_cuts_break_what_is_written_carelessly(tmp_path: Path, careless: Write) -> None:
    states = end_states(tmp_path, {NAME: OLD}, careless)
    assert {state.get(NAME) for state in states} - {OLD, NEW}


def test_documents_are_whole_after_a_cut_at_any_operation(tmp_path: Path) -> None:
    path = folder_with(tmp_path / "before", {}) / NAME
    open_documents(path).insert({"name": "old"})
    before = {NAME: path.read_bytes()}
    states = end_states(tmp_path, before, inserted)
    names = set()
    for state in states:
        rows = json.loads(state[NAME])["_default"].values()
        names.add(tuple(row["name"] for row in rows))
    assert names == {("old",), ("old", "new")}


def test_the_next_start_finds_the_file_and_can_write_it(tmp_path: Path) -> None:
    states = end_states(tmp_path, {NAME: OLD}, written)
    for number, state in enumerate(states):
        folder = folder_with(tmp_path / f"after-{number}", state)
        with hold(folder):
            assert {path.name for path in folder.iterdir()} == {NAME, "lock"}
            write_atomic(folder / NAME, b"next")
        assert (folder / NAME).read_bytes() == b"next"


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_an_operation_that_is_refused_leaves_a_whole_file(tmp_path: Path, code: int) -> None:
    for number in itertools.count(1):
        folder = folder_with(tmp_path / f"{number}", {NAME: OLD})
        error = OSError(code, os.strerror(code))
        with CutDisk(folder, number, error) as disk:
            try:
                write_atomic(folder / NAME, NEW)
            except (OSError, StorageFull):
                assert disk.has_failed
        if not disk.has_failed:
            break
        assert (folder / NAME).read_bytes() in {OLD, NEW}
        remove_stale_temps(folder)
        assert [path.name for path in folder.iterdir()] == [NAME]
    assert number > 6
