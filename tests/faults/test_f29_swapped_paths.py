"""F29: a path whose folder becomes a link between two looks: three seconds of it, for every way."""

import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from agent.errors import PathRefused
from agent.security.paths import (
    change_beneath,
    list_beneath,
    open_beneath,
    open_found,
    walk_beneath,
    write_beneath,
)

RACE_S = 3.0
# Of renameat2(2): relative names are the process's own; both names change places at once
_CWD, _EXCHANGE = -100, 2
INSIDE, SECRET = b"inside", b"outside: the host's private key"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "swapped").mkdir(parents=True)
    (folder / "swapped" / "file.txt").write_bytes(INSIDE)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file.txt").write_bytes(SECRET)
    (tmp_path / "outside" / "only-outside.txt").write_bytes(SECRET)
    return folder


@contextlib.contextmanager
def swapping(root: Path) -> Iterator[None]:
    """A folder and a link to the outside take each other's place as fast as it goes."""
    link = root.parent / "link"
    link.symlink_to(root.parent / "outside")
    names = (os.fsencode(root / "swapped"), os.fsencode(link))
    exchange = ctypes.CDLL(None, use_errno=True).renameat2
    ended, failed = threading.Event(), threading.Event()

    def swap() -> None:
        while not ended.is_set():
            if exchange(_CWD, names[0], _CWD, names[1], _EXCHANGE):
                failed.set()

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        yield
    finally:
        ended.set()
        swapper.join()
    assert not failed.is_set(), "this file system exchanges no names"


def read(root: Path) -> None:
    with open_beneath(root, "swapped/file.txt") as file:
        assert file.read() == INSIDE


def edit(root: Path) -> None:
    def change(file: BinaryIO) -> bytes:
        assert file.read() == INSIDE
        return INSIDE

    change_beneath(root, "swapped/file.txt", change)


def write(root: Path) -> None:
    write_beneath(root, "swapped/file.txt", INSIDE)


def listed(root: Path) -> None:
    assert [entry.name for entry in list_beneath(root, "swapped", 9)] == ["file.txt"]


def walk(root: Path) -> None:
    met = 0
    for found in walk_beneath(root, ".", 99):
        assert found.relative in {"swapped", "swapped/file.txt"}
        if not found.entry.is_folder:
            met += 1
            with open_found(found) as file:
                assert file.read() == INSIDE
    if not met:
        raise PathRefused("the folder was a link")


def test_a_folder_that_becomes_a_link_never_leads_out(root: Path) -> None:
    ways: tuple[Callable[[Path], None], ...] = (read, edit, listed, walk, write)
    came = dict.fromkeys([way.__name__ for way in ways], 0)
    refused = dict(came)
    with swapping(root):
        until = time.monotonic() + RACE_S
        while time.monotonic() < until:
            for way in ways:
                try:
                    way(root)
                    came[way.__name__] += 1
                except PathRefused:
                    refused[way.__name__] += 1
    outside = root.parent / "outside"
    assert {one.name: one.read_bytes() for one in outside.iterdir()} == {
        "file.txt": SECRET,
        "only-outside.txt": SECRET,
    }
    # Without both of each the race did not happen
    assert min(came.values()) > 0, came
    assert min(refused.values()) > 0, refused
