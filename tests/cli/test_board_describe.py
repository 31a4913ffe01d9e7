"""`barnacle board describe`, from the command line to the file."""

import tomllib
from pathlib import Path

import pytest

from agent.cli.main import main
from tests.fakes.board_sim import unavailable_reason
from tests.fakes.prompt_board import prompt_board


def test_a_plugged_board_becomes_a_board_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if reason := unavailable_reason():
        pytest.skip(reason)
    config = tmp_path / "barnacle.toml"
    config.write_text("")
    monkeypatch.setenv("BARNACLE_CONFIG", str(config))
    command = ["board", "describe", "--state-dir", str(tmp_path / "state")]
    with prompt_board() as path:
        assert main([*command, "--port", path]) == 0
        said = capsys.readouterr().out
        (written,) = (tmp_path / "boards").glob("*.toml")
        assert str(written) in said
        assert "24 pins, 16 of them free, 1 LEDs" in said
        assert tomllib.loads(written.read_text())["usable"]["PA0"] == "gpio adc pwm"
        written.write_text("mine")
        assert main([*command, "--port", path]) != 0
        assert written.read_text() == "mine"
        assert main([*command, "--port", path, "--force"]) == 0
        assert written.read_text() != "mine"


def test_without_a_port_it_says_which_command_shows_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "barnacle.toml"
    config.write_text("")
    assert main(["board", "describe", "--config", str(config)]) != 0
    assert "barnacle board list" in capsys.readouterr().err
