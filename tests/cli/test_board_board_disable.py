import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.cli import board, exits
from agent.cli.main import main
from agent.health.status import AgentStatus, write_status
from tests.fakes.enable import RecordingLine, TornLine


def test_every_line_is_switched_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = {17: RecordingLine(), 27: RecordingLine()}
    monkeypatch.setattr(board, "open_enable_lines", lambda gpios: [lines[one] for one in gpios])
    assert board.disable((17, 27)) == exits.OK
    assert [line.is_closed for line in lines.values()] == [True, True]
    assert capsys.readouterr().out == "off: GPIO 17, GPIO 27\n"


def test_without_a_line_there_is_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["board", "disable"]) == exits.OK
    assert capsys.readouterr().out.startswith("nothing to switch off")


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[int, RecordingLine]:
    """Lines of a machine on which an agent with GPIO 27 was killed."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BARNACLE_CONFIG", str(tmp_path / "barnacle.toml"))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path))
    killed = AgentStatus(os.getpid(), 0, 0.0, enable_gpios=(27,))
    write_status(tmp_path / "status.json", killed)
    found = {17: RecordingLine(), 27: RecordingLine()}

    def opened(gpios: Sequence[int]) -> list[RecordingLine]:
        return [found[one] for one in gpios]

    monkeypatch.setattr(board, "open_enable_lines", opened)
    return found


def test_a_line_that_cannot_be_used_keeps_no_other_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines: dict[int, RecordingLine] = {17: TornLine(), 27: RecordingLine()}
    monkeypatch.setattr(board, "open_enable_lines", lambda gpios: [lines[one] for one in gpios])
    monkeypatch.setattr(board, "enable_gpios", lambda _settings: (17, 27))
    assert main(["board", "disable"]) == exits.FAILED
    assert lines[27].is_closed
    said = capsys.readouterr()
    assert said.out == "off: GPIO 27\n"
    assert "GPIO 17 cannot be used" in said.err


def test_a_configuration_with_a_mistake_leaves_the_lines_of_the_killed_agent_off(
    lines: dict[int, RecordingLine], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "barnacle.toml").write_text("[board]\nenable_gpoi = 27\n")
    assert main(["board", "disable"]) == exits.USAGE
    assert lines[27].is_closed
    assert "did you mean `enable_gpio`" in capsys.readouterr().err


def test_a_line_that_the_file_names_no_more_goes_off_with_the_agent_that_had_it(
    lines: dict[int, RecordingLine], tmp_path: Path
) -> None:
    (tmp_path / "barnacle.toml").write_text("[board]\nenable_gpio = 17\n")
    assert main(["board", "disable"]) == exits.OK
    assert [line.is_closed for line in lines.values()] == [True, True]
