import os
from pathlib import Path

import pytest

from agent.errors import PathRefused
from agent.security.paths import (
    HERE,
    MAX_PARTS,
    all_beneath,
    list_beneath,
    open_found,
    walk_beneath,
)


def test_a_walk_ends_where_paths_end(tmp_path: Path) -> None:
    deepest = "/".join(["d"] * MAX_PARTS)
    (tmp_path / deepest / "too-deep").mkdir(parents=True)
    walked = [found.relative for found in walk_beneath(tmp_path, "d", 100)]
    assert walked == ["/".join(["d"] * depth) for depth in range(2, MAX_PARTS + 1)]
    assert list(walk_beneath(tmp_path, deepest, 100)) == []
    assert len(list(walk_beneath(tmp_path, HERE, 3))) == 3


def test_a_walk_names_everything_before_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.txt").write_text("c")
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "link").symlink_to("/etc")
    walked = [found.relative for found in walk_beneath(tmp_path, HERE, 100)]
    assert walked == ["a.txt", "b", "b/c.txt"]


def test_a_walk_leaves_no_folder_open(tmp_path: Path) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    before = len([*Path("/proc/self/fd").iterdir()])
    assert len([*walk_beneath(tmp_path, HERE, 100)]) == 3
    assert len([*Path("/proc/self/fd").iterdir()]) == before


def test_what_became_something_else_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    for found in walk_beneath(tmp_path, HERE, 100):
        (tmp_path / "a.txt").unlink()
        (tmp_path / "a.txt").symlink_to("/etc/hostname")
        with pytest.raises(PathRefused):
            open_found(found)


def test_what_is_left_out_takes_no_place_of_what_is_there(tmp_path: Path) -> None:
    """Whoever asks for one more than is shown knows by it whether there is more."""
    for number in range(10):
        (tmp_path / f"link{number}").symlink_to("nowhere")
        (tmp_path / f"{number}").touch()
    assert len(list_beneath(tmp_path, HERE, 10)) == 10
    assert len([*walk_beneath(tmp_path, HERE, 10)]) == 10


def test_all_that_is_there_is_told_to_whoever_looks_for_others(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "folder").mkdir()
    os.close(os.open(os.fsencode(tmp_path) + b"/\xff", os.O_CREAT | os.O_WRONLY))
    found = {entry.name: entry.is_folder for entry in all_beneath(tmp_path, HERE, 10)}
    assert found == {"folder": True, "link": False, "\udcff": False}
    assert len(all_beneath(tmp_path, HERE, 2)) == 2
    with pytest.raises(PathRefused):
        all_beneath(tmp_path, "link", 2)
