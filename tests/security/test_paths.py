import contextlib
import os
import shutil
import socket
import string
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import PathRefused, StorageFull
from agent.security import paths
from agent.security.paths import (
    HERE,
    MAX_PARTS,
    FolderEntry,
    list_beneath,
    open_beneath,
    parts_of,
    write_beneath,
)

SECRET = b"outside: the host's private key"
# Long enough for thousands of swaps
RACE_S = 1.0
# On a busy machine and a slow disk the racers meet a few times a second, or not at all in one
PATIENCE_S = 30.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a file, and a file beside the folder that must never be reached."""
    folder = tmp_path / "root"
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "today.md").write_bytes(b"inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_bytes(SECRET)
    (tmp_path / "secret.txt").write_bytes(SECRET)
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def read(root: Path, relative: str) -> bytes:
    with open_beneath(root, relative) as file:
        return file.read()


CORPUS = [
    "",
    "/",
    "//",
    "/etc/passwd",
    "../secret.txt",
    "..",
    ".",
    "./notes",
    "notes/..",
    "notes/../../secret.txt",
    "notes/./today.md",
    "notes//today.md",
    "notes/",
    "notes/today.md/",
    "...",
    ".. /secret.txt",
    "notes/today.md.",
    "notes/today.md ",
    "notes\\today.md",
    "..\\secret.txt",
    "C:\\Windows\\win.ini",
    "\\\\host\\share",
    "notes/today.md\x00.png",
    "\x00",
    "notes/to\nday.md",
    "notes/to\x7fday.md",
    "notes/to\x85day.md",
    "notes/\u202egpj.exe",
    "notes/zero\u200bwidth",
    "notes/line\u2028end",
    "notes/\ud800",
    "x" * 256,
    "灯" * 86,
    "/".join(["a"] * (MAX_PARTS + 1)),
    "a/" * 100_000,
]


@pytest.mark.parametrize("relative", CORPUS)
def test_paths_that_are_no_plain_names_are_refused(root: Path, relative: str) -> None:
    with pytest.raises(PathRefused) as caught:
        open_beneath(root, relative)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 800
    with pytest.raises(PathRefused):
        write_beneath(root, relative, b"x")
    if relative != HERE:
        with pytest.raises(PathRefused):
            list_beneath(root, relative, 10)


@pytest.mark.parametrize(
    "relative",
    [
        *("a", "notes/today.md", "Ünï/文件.txt", "...a", ".hidden", "a..b", "with space.md", "~"),
        *("$HOME", "*", "%2e%2e", "con", "x" * 255, "灯" * 85, "/".join(["a"] * MAX_PARTS)),
    ],
)
def test_plain_names_are_taken_as_they_are(root: Path, relative: str) -> None:
    assert "/".join(parts_of(relative)) == relative
    write_beneath(root, relative, b"content")
    assert (root / relative).read_bytes() == read(root, relative) == b"content"


def test_reading_and_what_is_not_there(root: Path) -> None:
    assert read(root, "notes/today.md") == b"inside"
    with pytest.raises(PathRefused, match=r"there is no 'notes/absent\.md'"):
        open_beneath(root, "notes/absent.md")
    with pytest.raises(PathRefused, match=r"there is no 'absent/today\.md'"):
        open_beneath(root, "absent/today.md")


def test_writing_makes_folders_and_replaces_files_whole(root: Path) -> None:
    write_beneath(root, "a/b/c.txt", b"one")
    write_beneath(root, "a/b/c.txt", b"two")
    assert (root / "a/b/c.txt").read_bytes() == b"two"
    assert names(root / "a/b") == ["c.txt"]
    assert (root / "a/b/c.txt").stat().st_mode & 0o777 == 0o600
    assert (root / "a").stat().st_mode & 0o777 == 0o700


def test_the_root_is_made_when_it_is_needed_and_may_be_a_link_itself(tmp_path: Path) -> None:
    write_beneath(tmp_path / "state" / "workspace", "a.txt", b"x")
    (tmp_path / "link").symlink_to(tmp_path / "state" / "workspace")
    assert read(tmp_path / "link", "a.txt") == b"x"


# Links, pipes, devices


def test_no_link_is_followed_wherever_it_stands(root: Path, tmp_path: Path) -> None:
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "inner.txt").symlink_to("notes/today.md")
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "loop").symlink_to("loop")
    for relative in ("link.txt", "inner.txt", "folder/secret.txt", "loop", "loop/x"):
        with pytest.raises(PathRefused, match="a part of it is a link"):
            open_beneath(root, relative)
    for relative in ("folder/new.txt", "loop/new.txt"):
        with pytest.raises(PathRefused, match="a part of it is a link"):
            write_beneath(root, relative, b"x")
    with pytest.raises(PathRefused, match="a part of it is a link"):
        list_beneath(root, "folder", 10)
    assert names(tmp_path / "outside") == ["secret.txt"]


def test_a_link_in_the_place_of_the_file_is_not_written_through(root: Path, tmp_path: Path) -> None:
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(PathRefused, match="not a plain file"):
        write_beneath(root, "link.txt", b"overwritten")
    assert (tmp_path / "secret.txt").read_bytes() == SECRET


def test_a_file_with_a_second_name_is_not_touched(root: Path, tmp_path: Path) -> None:
    os.link(tmp_path / "secret.txt", root / "hard.txt")
    with pytest.raises(PathRefused, match="more than one name"):
        open_beneath(root, "hard.txt")
    with pytest.raises(PathRefused, match="more than one name"):
        write_beneath(root, "hard.txt", b"x")
    assert (tmp_path / "secret.txt").read_bytes() == SECRET


def test_a_pipe_does_not_hold_the_reader(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(PathRefused, match="not a plain file"):
        open_beneath(root, "pipe")
    with pytest.raises(PathRefused, match="not a plain file"):
        write_beneath(root, "pipe", b"x")


def test_sockets_folders_and_files_in_the_wrong_place_are_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        with pytest.raises(PathRefused, match="cannot be used"):
            open_beneath(root, "socket")
    with pytest.raises(PathRefused, match="not a plain file"):
        open_beneath(root, "notes")
    with pytest.raises(PathRefused, match="not a plain file"):
        write_beneath(root, "notes", b"x")
    for act in (open_beneath, lambda *where: write_beneath(*where, b"x")):
        with pytest.raises(PathRefused, match="a link or a file"):
            act(root, "notes/today.md/deeper.txt")


def test_handles_are_closed_whatever_happens(root: Path, tmp_path: Path) -> None:
    (root / "link").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    before = len(names(Path("/proc/self/fd")))
    for relative in ("absent", "link/x", "pipe", "notes/today.md/x", "../x", "notes"):
        with contextlib.suppress(PathRefused):
            open_beneath(root, relative).close()
        with contextlib.suppress(PathRefused):
            write_beneath(root, relative, b"x")
        with contextlib.suppress(PathRefused):
            list_beneath(root, relative, 10)
    assert len(names(Path("/proc/self/fd"))) == before


# Listing


def test_a_folder_is_listed_by_name_without_what_could_not_be_opened(
    root: Path, tmp_path: Path
) -> None:
    (root / "b.txt").write_bytes(b"1234")
    (root / "link").symlink_to(tmp_path)
    (root / "bad\nname").touch()
    (root / "dot.").touch()
    os.mkfifo(root / "pipe")
    assert list_beneath(root, HERE, 100) == [
        FolderEntry("b.txt", is_folder=False, size_bytes=4),
        FolderEntry("notes", is_folder=True, size_bytes=0),
    ]
    assert list_beneath(root, "notes", 100) == [
        FolderEntry("today.md", is_folder=False, size_bytes=6)
    ]


def test_a_name_that_is_no_text_is_left_out(root: Path) -> None:
    os.close(os.open(os.fsencode(root) + b"/notes/\xff.txt", os.O_CREAT | os.O_WRONLY))
    assert [entry.name for entry in list_beneath(root, "notes", 100)] == ["today.md"]


def test_of_a_huge_folder_only_a_part_is_looked_at(root: Path) -> None:
    for number in range(50):
        (root / "notes" / f"{number}.txt").touch()
    assert len(list_beneath(root, "notes", 20)) == 20


def test_what_vanishes_while_it_is_listed_is_left_out(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Vanished:
        name = "gone"

        def stat(self, *, follow_symlinks: bool) -> os.stat_result:
            raise FileNotFoundError

    @contextlib.contextmanager
    def scan(_: int) -> Iterator[Iterator[Vanished]]:
        yield iter([Vanished()])

    monkeypatch.setattr(os, "scandir", scan)
    assert list_beneath(root, "notes", 10) == []


# Faults of the disk


@pytest.mark.parametrize(
    ("number", "kind"), [(28, StorageFull), (122, StorageFull), (30, StorageFull), (5, PathRefused)]
)
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    root: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[Exception]
) -> None:
    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(kind, match=os.strerror(number)):
        write_beneath(root, "notes/today.md", b"new")
    assert (root / "notes/today.md").read_bytes() == b"inside"
    assert names(root / "notes") == ["today.md"]


def test_a_temporary_that_cannot_be_removed_does_not_hide_the_failure(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "rename", fail)
    monkeypatch.setattr(os, "unlink", fail)
    with pytest.raises(PathRefused, match="Input/output error"):
        write_beneath(root, "notes/new.md", b"x")


# Properties

part = st.text(alphabet=string.ascii_lowercase + "./\\ \x00\n灯\u202e", min_size=0, max_size=12)
anything = st.one_of(
    st.text(max_size=40),
    st.lists(
        st.one_of(part, st.sampled_from(["..", ".", "", "notes", "link", "/"])), max_size=6
    ).map("/".join),
)


@given(anything)
def test_whatever_the_path_what_is_opened_is_under_the_root(
    tmp_path_factory: pytest.TempPathFactory, relative: str
) -> None:
    root = _shared_root(tmp_path_factory)
    with contextlib.suppress(PathRefused), open_beneath(root, relative) as file:
        opened = Path(f"/proc/self/fd/{file.fileno()}").readlink()
        assert opened.is_relative_to(root.resolve())
    with contextlib.suppress(PathRefused):
        list_beneath(root, relative, 10)


@given(anything, st.binary(max_size=8))
def test_whatever_the_path_nothing_is_written_outside_the_root(
    tmp_path_factory: pytest.TempPathFactory, relative: str, content: bytes
) -> None:
    root = _shared_root(tmp_path_factory)
    try:
        write_beneath(root, relative, content)
    except PathRefused:
        pass
    else:
        assert read(root, relative) == content
    assert names(root.parent) == ["outside", "root", "secret.txt"]
    assert names(root.parent / "outside") == ["secret.txt"]


def _shared_root(factory: pytest.TempPathFactory) -> Path:
    top = factory.getbasetemp() / "shared-paths"
    if not top.exists():
        (top / "outside").mkdir(parents=True)
        (top / "outside" / "secret.txt").write_bytes(SECRET)
        (top / "secret.txt").write_bytes(SECRET)
        (top / "root" / "notes").mkdir(parents=True)
        (top / "root" / "notes" / "a").write_bytes(b"inside")
        (top / "root" / "link").symlink_to(top / "outside")
    return top / "root"


def swapping(root: Path, outside: Path, ended: threading.Event) -> None:
    """Put a folder and a link to the outside in each other's place as fast as it goes."""
    folder, aside, link = root / "swapped", root / "aside", root / "link"
    while not ended.is_set():
        folder.rename(aside)
        if not link.is_symlink():
            link.symlink_to(outside)
        with contextlib.suppress(OSError):
            link.rename(folder)
        put_back(aside, folder)


def put_back(aside: Path, folder: Path) -> None:
    """Also where a writer has made the folder anew in the meantime."""
    while aside.exists():
        if folder.is_symlink():
            folder.unlink()
        else:
            shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            aside.rename(folder)


def test_a_folder_that_is_swapped_for_a_link_never_leads_out(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (root / "swapped").mkdir()
    (root / "swapped" / "secret.txt").write_bytes(b"inside")
    ended = threading.Event()
    swapper = threading.Thread(target=swapping, args=(root, outside, ended))
    swapper.start()
    seen = {"inside": 0, "link": 0, "written": 0}
    try:
        begun = time.monotonic()
        until, at_last = begun + RACE_S, begun + PATIENCE_S
        while time.monotonic() < (until if all(seen.values()) else at_last):
            try:
                assert read(root, "swapped/secret.txt") == b"inside"
                seen["inside"] += 1
            except PathRefused as err:
                seen["link"] += "link" in str(err)
            with contextlib.suppress(PathRefused):
                write_beneath(root, "swapped/written.txt", b"x")
                seen["written"] += 1
    finally:
        ended.set()
        swapper.join()
    assert names(outside) == ["secret.txt"]
    assert (outside / "secret.txt").read_bytes() == SECRET
    # Without each of them the race did not happen
    assert min(seen.values()) > 0, seen


def test_the_limits_are_the_file_systems() -> None:
    assert os.pathconf("/", "PC_NAME_MAX") >= paths.MAX_PART_BYTES
