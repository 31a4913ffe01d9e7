import pytest

from agent.cli import board, exits
from agent.cli.main import main
from tests.fakes.enable import RecordingLine


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
