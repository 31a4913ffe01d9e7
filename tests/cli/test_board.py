import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.app import boards
from agent.cli import exits
from agent.cli.main import main
from agent.health import visit
from agent.health.status import AgentStatus, BoardReport, own_start_ticks, write_status
from agent.link import frame as wire
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from agent.storage.lineage import Lineage
from agent.system.clock import Clock
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

    def linked(
        settings: BoardSettings, folder: Path, clock: Clock, *, lineage: Lineage
    ) -> SerialBoard:
        machine = FakePorts(lambda: FakePort(peer), settings.port or silent_port)
        return SerialBoard(settings, folder, clock, machine, lineage)

    monkeypatch.setattr(boards, "SerialBoard", linked)
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
    assert capsys.readouterr().err == f"barnacle: {missing} not found: is the board plugged in?\n"


def test_the_running_agent_that_has_the_port_is_named(
    silent_port: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = AgentStatus(
        os.getpid(), own_start_ticks(), 0.0, board=BoardReport("ready", silent_port)
    )
    write_status(tmp_path / "state" / "status.json", agent)
    assert main(["board", "info", "--port", silent_port]) == exits.FAILED
    assert f"the running agent (pid {os.getpid()}) uses the board" in capsys.readouterr().err


class TestConfigure:
    def write(self, folder: Path, max_on_s: int) -> list[str]:
        file = folder / "b.toml"
        file.write_text(f'[board.pins.valve]\npin = "PB9"\nmax_on_s = {max_on_s}\n')
        return ["board", "configure", "--config", str(file)]

    def test_what_is_tighter_is_done(
        self, scripted: ScriptedBoard, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(self.write(tmp_path, 50)) == exits.OK
        assert main(self.write(tmp_path, 5)) == exits.OK
        assert b'"max_on_ms":5000' in scripted.configuration
        assert "board uses the configuration" in capsys.readouterr().out

    def test_what_is_looser_needs_a_yes(
        self,
        scripted: ScriptedBoard,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        main(self.write(tmp_path, 5))
        command = self.write(tmp_path, 50)
        assert main(command) == exits.FAILED
        assert "  valve may be on at most 50000 ms" in capsys.readouterr().out
        assert main([*command, "--yes"]) == exits.OK
        assert b'"max_on_ms":50000' in scripted.configuration

    def test_a_refusal_is_told(
        self, scripted: ScriptedBoard, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        scripted.overrides[wire.METHOD_CONFIG_COMMIT] = (wire.OUT_OF_RANGE, b"valve: no such pin")
        assert main(self.write(tmp_path, 5)) == exits.FAILED
        assert "valve: no such pin" in capsys.readouterr().out


def test_one_of_several_boards_is_chosen_by_its_name(
    scripted: ScriptedBoard, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "b.toml"
    file.write_text('[boards.garden]\nport = "/dev/g"\n[boards.cellar]\nport = "/dev/c"\n')
    command = ["board", "info", "--json", "--config", str(file)]
    assert main([*command, "--board", "cellar"]) == exits.OK
    assert json.loads(capsys.readouterr().out)["port"] == "/dev/c"
    assert main(command) == exits.OK
    said = json.loads(capsys.readouterr().out)
    assert said["port"] == "/dev/g"
    assert said["link"]["frames"] > 0
    assert scripted.greetings == 2
    assert main([*command, "--board", "attic"]) == exits.USAGE
    assert "configured boards: garden, cellar" in capsys.readouterr().err
