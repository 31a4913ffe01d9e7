import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.cli import board, exits
from agent.cli.main import main
from agent.clock import Clock
from agent.health import visit
from agent.health.status import BoardReport, Status, own_start_ticks, write_status
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from tests.fakes.peer import TEMPERATURE, ScriptedBoard
from tests.fakes.ports import FakePort, FakePorts

# Its place in the wire format's list of answer codes
INTERLOCK = 6


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


@pytest.fixture
def scripted(silent_port: str, monkeypatch: pytest.MonkeyPatch) -> ScriptedBoard:
    """A board that answers, wherever the command looks for one."""
    peer = ScriptedBoard()

    def linked(settings: BoardSettings, folder: Path, clock: Clock) -> SerialBoard:
        machine = FakePorts(lambda: FakePort(peer), settings.port or silent_port)
        return SerialBoard(settings, folder, clock, machine)

    monkeypatch.setattr(board, "SerialBoard", linked)
    return peer


@pytest.mark.usefixtures("scripted")
def test_a_board_that_answers_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["board", "info", "--json", "--port", "/dev/ttyACM7"]) == exits.OK
    said = json.loads(capsys.readouterr().out)
    assert (said["state"], said["port"]) == ("ready", "/dev/ttyACM7")


def test_a_call_acts_and_leaves_the_output_safe(scripted: ScriptedBoard) -> None:
    assert main(["board", "call", "gpio_write", "pin=led", "value=on"]) == exits.OK
    assert [value for _, _, value in scripted.record][-2:] == [1, 0]


def test_a_call_that_the_board_refuses_is_one_line(
    scripted: ScriptedBoard, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.overrides[TEMPERATURE] = (INTERLOCK, b"the door is \x1b[31mopen")
    assert main(["board", "call", "mcu_temperature"]) == exits.FAILED
    assert capsys.readouterr().err == "barnacle: interlock: the door is [31mopen\n"


@pytest.mark.usefixtures("scripted")
def test_a_wrong_call_is_wrong_usage() -> None:
    assert main(["board", "call", "dance"]) == exits.USAGE


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
