import os
from pathlib import Path

import pytest

from agent.health.status import (
    AgentStatus,
    BoardReport,
    ChannelReport,
    own_start_ticks,
    read_status,
    start_ticks_of,
    write_status,
)


def own_status() -> AgentStatus:
    return AgentStatus(
        pid=os.getpid(),
        start_ticks=own_start_ticks(),
        since_s=1_800_000_000.0,
        provider="offline",
        board=BoardReport(state="ready", port="/dev/ttyACM0"),
        channels=(ChannelReport("terminal"),),
    )


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_status(tmp_path / "status.json", own_status())
    assert read_status(tmp_path / "status.json") == own_status()


def test_this_program_runs() -> None:
    assert own_status().is_running


def test_a_later_program_with_the_same_pid_is_not_this_one() -> None:
    assert not AgentStatus(pid=os.getpid(), start_ticks=own_start_ticks() - 1, since_s=0).is_running


def test_no_program_has_no_start() -> None:
    assert start_ticks_of(2**22 + 1) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"pid": "x"}', b"\xff\xfe", b"{" * 99_999, b'{"x":' + b"[" * 60_000],
)
def test_a_damaged_file_is_silence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "status.json").write_bytes(content)
    assert read_status(tmp_path / "status.json") is None


def test_a_missing_file_is_silence(tmp_path: Path) -> None:
    assert read_status(tmp_path / "status.json") is None
