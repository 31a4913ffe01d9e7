"""New folders on the disk, and how a path that is refused is shown."""

import os
from pathlib import Path

import pytest

from agent.errors import PathRefused
from agent.security.paths import open_beneath, write_beneath


def test_of_a_long_path_the_beginning_is_shown(tmp_path: Path) -> None:
    with pytest.raises(PathRefused) as caught:
        open_beneath(tmp_path, "x" * 1000)
    assert f"'{'x' * 100}...'" in str(caught.value)
    assert "x" * 101 not in str(caught.value)


def test_a_new_folder_outlives_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def noted(handle: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))  # noqa: PTH115 - a descriptor
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    write_beneath(tmp_path, "new/inner/a.txt", b"x")
    # The entry of each new folder, and that of the file
    assert {str(tmp_path), str(tmp_path / "new"), str(tmp_path / "new" / "inner")} <= set(synced)
