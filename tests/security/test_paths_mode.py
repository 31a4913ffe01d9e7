from pathlib import Path

import pytest

from agent.security.paths import change_beneath, write_beneath


@pytest.mark.parametrize("mode", [0o644, 0o755])
def test_a_changed_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    (tmp_path / "tool.sh").write_bytes(b"echo")
    (tmp_path / "tool.sh").chmod(mode)
    change_beneath(tmp_path, "tool.sh", lambda file: file.read() + b" 1")
    assert (tmp_path / "tool.sh").read_bytes() == b"echo 1"
    assert (tmp_path / "tool.sh").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize(("mode", "kept"), [(0o644, 0o644), (0o755, 0o755), (0o4755, 0o755)])
def test_a_file_that_is_written_anew_keeps_its_mode(tmp_path: Path, mode: int, kept: int) -> None:
    (tmp_path / "tool.sh").write_bytes(b"echo")
    (tmp_path / "tool.sh").chmod(mode)
    write_beneath(tmp_path, "tool.sh", b"echo 1")
    assert (tmp_path / "tool.sh").read_bytes() == b"echo 1"
    assert (tmp_path / "tool.sh").stat().st_mode & 0o7777 == kept
