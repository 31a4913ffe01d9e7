from pathlib import Path

import pytest

from agent.errors import PathRefused
from agent.security.paths import HERE, MAX_PARTS, open_found, walk_beneath


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
