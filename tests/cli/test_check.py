import importlib.util
import json
from pathlib import Path

import pytest

from agent.cli import exits
from agent.cli.main import main
from agent.config import load
from agent.settings import Settings


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", tmp_path / "none.toml")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "b.toml"
    path.write_text('[agent]\nname = "Otto"\n[board]\nbaud = 9600\n')
    return path


def test_a_right_file_is_ok_with_the_number_of_its_keys(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(config)]) == exits.OK
    assert capsys.readouterr().out.startswith(f"ok: {config} sets 2 of ")


def test_a_wrong_file_is_told_whole(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text("[board]\nbdua = 1\nbaud = 5\n[agnet]\n")
    assert main(["check", str(config)]) == exits.USAGE
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 3
    assert "did you mean `agent`?" in said[2]


def test_a_program_gets_every_problem(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text("[board]\nbdua = 1\nbaud = 5\n")
    assert main(["check", "--json", str(config)]) == exits.USAGE
    said = json.loads(capsys.readouterr().out)
    assert said["ok"] is False
    assert len(said["problems"]) == 2


def test_a_program_gets_the_number_of_keys(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--json", str(config)]) == exits.OK
    assert json.loads(capsys.readouterr().out) == {
        "ok": True,
        "file": str(config),
        "keys_set": 2,
    }


def test_the_file_that_would_be_used_is_checked(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BARNACLE_CONFIG", str(config))
    assert main(["check"]) == exits.OK
    assert str(config) in capsys.readouterr().out


def test_no_file_is_ok(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == exits.OK
    assert "no configuration file" in capsys.readouterr().out


def test_a_missing_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "nothing.toml")]) == exits.USAGE
    assert "cannot be read" in capsys.readouterr().err


def test_the_example_is_printed_and_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--example"]) == exits.OK
    path = tmp_path / "example.toml"
    path.write_text(capsys.readouterr().out)
    assert load(path, Settings) == Settings()


def test_a_pin_that_this_machine_cannot_drive_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    file = tmp_path / "barnacle.toml"
    file.write_text("[board]\nenable_gpio = 17\n")
    assert main(["check", str(file)]) == exits.USAGE
    assert "pip install '.[pi]'" in capsys.readouterr().err


def test_a_program_that_answers_as_a_model_has_to_be_here(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declared = '[{0}]\nkind = "program"\n[{0}.program]\ncommand = ["{1}"]\n'
    config.write_text(declared.format("provider", "cat"))
    assert main(["check", str(config)]) == exits.OK
    config.write_text(declared.format("providers.mine", "no-such-cli"))
    assert main(["check", str(config)]) == exits.USAGE
    said = capsys.readouterr().err
    assert "providers.mine.program: program no-such-cli not found" in said
