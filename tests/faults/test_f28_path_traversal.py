"""F28: whatever a path from outside looks like, what is opened lies beneath the workspace."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import CommandRefused, PathRefused, SandboxBroken
from agent.security.argv import accepted
from agent.security.paths import (
    change_beneath,
    list_beneath,
    open_beneath,
    remove_beneath,
    walk_beneath,
    write_beneath,
)
from agent.security.sandbox.base import SandboxJob
from agent.tools.settings import PROGRAMS
from tests.fakes.sandbox import bubblewrap, no_bubblewrap
from tests.fakes.workspace import OUTSIDE, workspace_in

REFUSED = [
    *("/etc/passwd", "//etc/passwd", "/", "", "..", "../secret.txt", "../../secret.txt"),
    *("notes/../../secret.txt", "notes/..", "./..", "notes/./today.md", "notes//today.md"),
    *("notes/today.md/", "plan.txt\0.png", "plan.txt\0", "\0", "..\\secret.txt", "C:\\boot.ini"),
    *(
        "\\\\host\\share",
        "notes\\today.md",
        "plan.txt.",
        "plan.txt ",
        "notes./today.md",
        "...",
        ". ",
    ),
    *("plan\n.txt", "plan\r.txt", "plan\t.txt", "plan\x1b[2J.txt", "plan\x7f.txt", "plan\x85.txt"),
    *("plan\u202etxt.exe", "plan\u200b.txt", "plan\u2028.txt", "plan\ud800.txt", "a" * 256),
    *("\u00e9" * 128, "/".join(["a"] * 17), "../" * 40 + "etc/passwd", "notes/../plan.txt"),
]
# Nothing here takes them for anything but names; there are no such files
ONLY_NAMES = [
    *("~", "~root/.ssh/id_rsa", "$HOME/x", "%2e%2e/secret.txt", "..%2fsecret.txt", "%00", "*"),
    *(
        "..;/secret.txt",
        "file:",
        "file:/etc/passwd",
        "\uff0e\uff0e/secret.txt",
        "..\u2215secret.txt",
    ),
    *("..%c0%afsecret.txt", "proc", "-rf", "CON", "NUL", "\u2025/secret.txt", "{..}/secret.txt"),
]
WAYS: dict[str, Callable[[Path, str], object]] = {
    "open": lambda root, path: open_beneath(root, path).close(),
    "change": lambda root, path: change_beneath(root, path, lambda file: file.read()),
    "list": lambda root, path: list_beneath(root, path, 9),
    "walk": lambda root, path: list(walk_beneath(root, path, 9)),
    "write": lambda root, path: write_beneath(root, path, b"x"),
    "remove": remove_beneath,
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """With links that lead out at every place where a path could pass."""
    workspace = workspace_in(tmp_path)
    (workspace / "out").symlink_to(tmp_path)
    (workspace / "secret-link.txt").symlink_to(tmp_path / "secret.txt")
    (workspace / "notes" / "up").symlink_to("../..")
    os.link(tmp_path / "secret.txt", workspace / "second-name.txt")
    os.mkfifo(workspace / "pipe")
    return workspace


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("path", REFUSED, ids=lambda path: ascii(path)[:40])
def test_what_is_no_plain_relative_path_is_refused_by_every_way(
    root: Path, way: str, path: str
) -> None:
    with pytest.raises(PathRefused):
        WAYS[way](root, path)
    assert (root.parent / "secret.txt").read_text() == OUTSIDE


@pytest.mark.parametrize("path", ONLY_NAMES, ids=ascii)
def test_what_means_something_elsewhere_is_only_a_name_here(root: Path, path: str) -> None:
    with pytest.raises(PathRefused, match=r"there is no"):
        open_beneath(root, path)
    write_beneath(root, path, b"x")
    with open_beneath(root, path) as file:
        assert is_beneath(os.fstat(file.fileno()), root)


@pytest.mark.parametrize(
    "path",
    ["out/secret.txt", "secret-link.txt", "notes/up/secret.txt", "second-name.txt", "pipe", "out"],
)
@pytest.mark.parametrize("way", ["open", "change", "write"])
def test_what_leads_out_or_is_no_plain_file_is_refused(root: Path, way: str, path: str) -> None:
    with pytest.raises(PathRefused):
        WAYS[way](root, path)
    assert (root.parent / "secret.txt").read_text() == OUTSIDE


def is_beneath(status: os.stat_result, root: Path) -> bool:
    inodes = {
        (one.st_dev, one.st_ino)
        for parent, _, names in os.walk(root)
        for name in names
        for one in [os.lstat(Path(parent, name))]
    }
    return (status.st_dev, status.st_ino) in inodes


_PARTS = st.one_of(
    st.sampled_from(["..", ".", "", "out", "up", "notes", "old", "secret.txt", "plan.txt", "pipe"]),
    st.sampled_from(["secret-link.txt", "second-name.txt", "today.md", "may.md", "~", "etc"]),
    st.text(max_size=8),
)
_JOINTS = st.sampled_from(["/", "//", "\\", "/./", "/../", "\0"])


@st.composite
def paths(draw: st.DrawFn) -> str:
    parts = draw(st.lists(_PARTS, min_size=1, max_size=6))
    return "".join(part + draw(_JOINTS) for part in parts[:-1]) + parts[-1]


@pytest.fixture(scope="module")
def shared_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace_with_links(tmp_path_factory.mktemp("shared"))


def workspace_with_links(folder: Path) -> Path:
    workspace = workspace_in(folder)
    (workspace / "out").symlink_to(folder)
    (workspace / "notes" / "up").symlink_to("../..")
    (workspace / "secret-link.txt").symlink_to(folder / "secret.txt")
    return workspace


@given(path=paths())
def test_whatever_is_opened_lies_beneath_the_workspace(shared_root: Path, path: str) -> None:
    try:
        file = open_beneath(shared_root, path)
    except PathRefused:
        return
    with file:
        assert is_beneath(os.fstat(file.fileno()), shared_root)


@given(path=paths())
def test_a_program_is_given_only_paths_that_may_be_opened(path: str) -> None:
    try:
        argv = accepted(["cat", "--", path], PROGRAMS)
    except CommandRefused:
        return
    assert argv == ("cat", "--", path)
    assert not path.startswith("/")
    assert ".." not in path.split("/")


@pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())
@pytest.mark.parametrize(
    "path", ["out/secret.txt", "secret-link.txt", "notes/up/secret.txt", "../secret.txt", "/root"]
)
async def test_even_a_program_that_follows_links_finds_nothing_outside(
    root: Path, path: str
) -> None:
    (root / "second-name.txt").unlink()
    done = await bubblewrap(root).run(SandboxJob(("cat", path), {"PATH": "/usr/bin:/bin"}, "."))
    assert done.exit != 0
    assert done.stdout == b""


@pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())
async def test_no_program_runs_where_a_file_has_a_name_outside(root: Path) -> None:
    job = SandboxJob(("cat", "second-name.txt"), {"PATH": "/usr/bin:/bin"}, ".")
    with pytest.raises(SandboxBroken, match=r"'second-name\.txt' is a hard link"):
        await bubblewrap(root).run(job)
