import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.cli import exits
from agent.cli.main import main
from agent.health import visit
from agent.health.status import BoardReport, Status, own_start_ticks, write_status


@pytest.fixture
def silent_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", tmp_path / "none.toml")
    monkeypatch.setattr(visit, "READY_TIMEOUT_S", 0.2)
    monkeypatch.setattr(visit, "_ABSENT_TIMEOUT_S", 0.1)
    ours, theirs = os.openpty()
    yield os.ttyname(theirs)
    os.close(ours)
    os.close(theirs)


def test_a_board_that_does_not_answer_is_one_line(
    silent_port: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["board", "info", "--port", silent_port]) == exits.FAILED
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("barnacle: ")
    assert silent_port in said.err


@pytest.mark.usefixtures("silent_port")
def test_a_port_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = str(tmp_path / "none")
    assert main(["board", "call", "gpio_read", "pin=led", "--port", missing]) == exits.FAILED
    assert (
        capsys.readouterr().err == f"barnacle: {missing} is not there: is the board plugged in?\n"
    )


def test_the_running_agent_that_has_the_port_is_named(
    silent_port: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = Status(os.getpid(), own_start_ticks(), 0.0, board=BoardReport("ready", silent_port))
    write_status(tmp_path / "state" / "status.json", agent)
    assert main(["board", "info", "--port", silent_port]) == exits.FAILED
    assert f"the running agent (pid {os.getpid()}) uses the board" in capsys.readouterr().err
