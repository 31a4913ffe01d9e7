from pathlib import Path

import pytest

from agent.errors import PathRefused
from agent.security.paths import remove_beneath

SECRET = b"outside: the host's private key"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a file, and files beside the folder that must never be touched."""
    folder = tmp_path / "root"
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "today.md").write_bytes(b"inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_bytes(SECRET)
    (tmp_path / "secret.txt").write_bytes(SECRET)
    return folder


def test_removing_takes_only_a_plain_file_away(root: Path, tmp_path: Path) -> None:
    remove_beneath(root, "notes/today.md")
    remove_beneath(root, "notes/today.md")
    assert list((root / "notes").iterdir()) == []
    (root / "link.md").symlink_to(tmp_path / "secret.txt")
    (root / "out").symlink_to(tmp_path / "outside")
    for path in ("link.md", "out/secret.txt", "notes", "gone/x.md", "../secret.txt"):
        with pytest.raises(PathRefused):
            remove_beneath(root, path)
    assert (tmp_path / "outside" / "secret.txt").read_bytes() == SECRET
    assert (tmp_path / "secret.txt").read_bytes() == SECRET
