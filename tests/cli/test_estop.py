import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.app import boards
from agent.cli import estop as command
from agent.cli import exits
from agent.cli.main import main
from agent.errors import StorageFull
from agent.health import visit
from agent.health.status import AgentStatus, BoardReport, own_start_ticks, write_status
from agent.link import frame as wire
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from agent.security import estop
from agent.security.estop import FILE_NAME, read_reason, record
from agent.storage.lineage import Lineage
from agent.system.clock import Clock
from tests.fakes.peer import ScriptedBoard
from tests.fakes.ports import FakePort, FakePorts


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", tmp_path / "none.toml")
    monkeypatch.setattr(visit, "READY_TIMEOUT_S", 0.5)
    monkeypatch.setattr(visit, "_ABSENT_TIMEOUT_S", 0.1)
    monkeypatch.setattr(command, "CONFIRM_TIMEOUT_S", 0.2)
    (tmp_path / "state").mkdir()
    return tmp_path / "state"


@pytest.fixture
def peer(state: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedBoard:
    """A board wherever the command looks for one."""
    scripted = ScriptedBoard()

    def linked(
        settings: BoardSettings, folder: Path, clock: Clock, *, lineage: Lineage
    ) -> SerialBoard:
        assert folder.is_relative_to(state)
        return SerialBoard(settings, folder, clock, FakePorts(lambda: FakePort(scripted)), lineage)

    monkeypatch.setattr(boards, "SerialBoard", linked)
    return scripted


def agent_says(state: Path, stopped: str) -> None:
    write_status(
        state / "status.json", AgentStatus(os.getpid(), own_start_ticks(), 0.0, stopped=stopped)
    )


def test_without_an_agent_the_board_is_told_directly(
    peer: ScriptedBoard, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estop"]) == exits.OK
    assert peer.reason == wire.REASON_ESTOP
    assert read_reason(state) == "by `barnacle estop`"
    assert "board: stopped at /dev/fake-port" in capsys.readouterr().out
    assert main(["estop", "--clear"]) == exits.OK
    assert peer.reason == wire.REASON_NONE
    assert read_reason(state) is None
    assert "board: released after an emergency stop" in capsys.readouterr().out


@pytest.mark.parametrize("mistake", ["[boa", "[board]\nporrt = 1\n"])
def test_a_mistake_in_the_configuration_holds_up_no_stop(
    peer: ScriptedBoard, state: Path, mistake: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (state.parent / "b.toml").write_text(mistake)
    report = BoardReport("ready", "/dev/fake-port", name="pumps")
    gone = AgentStatus(2**22, 1, 0.0, boards=(report,))
    write_status(state / "status.json", gone)
    assert main(["estop", "--config", str(state.parent / "b.toml")]) == exits.USAGE
    assert read_reason(state)
    assert peer.reason == wire.REASON_ESTOP
    said = capsys.readouterr()
    assert "pumps: stopped at /dev/fake-port" in said.out
    assert "b.toml" in said.err


def test_a_running_agent_stops_whatever_its_configuration_says_by_now(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (state.parent / "b.toml").write_text("[boa")
    agent_says(state, "by you")
    assert main(["estop", "--config", str(state.parent / "b.toml")]) == exits.OK
    assert "has stopped" in capsys.readouterr().out
    # To end a stop is no hurry
    assert main(["estop", "--clear", "--config", str(state.parent / "b.toml")]) == exits.USAGE
    assert read_reason(state)


def test_a_board_that_does_not_answer_is_a_failure(
    peer: ScriptedBoard, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    peer.is_silent = True
    assert main(["estop"]) == exits.FAILED
    assert read_reason(state)
    assert "board: not stopped" in capsys.readouterr().out


def test_no_board_at_all_is_none(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (state.parent / "b.toml").write_text('[board]\nport = "/dev/none"\n')
    assert main(["estop", "--config", str(state.parent / "b.toml")]) == exits.OK
    assert "/dev/none not found" in capsys.readouterr().out


@pytest.mark.parametrize(("options", "stopped"), [([], "by you"), (["--clear"], "")])
def test_the_running_agent_confirms(
    state: Path, options: list[str], stopped: str, capsys: pytest.CaptureFixture[str]
) -> None:
    record(state, "before")
    agent_says(state, stopped)
    assert main(["estop", *options]) == exits.OK
    assert f"the running agent (pid {os.getpid()}) " in capsys.readouterr().out


def test_an_agent_that_does_not_confirm_is_told(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent_says(state, "")
    assert main(["estop"]) == exits.FAILED
    assert "has not confirmed it" in capsys.readouterr().out


def test_a_stop_that_cannot_be_recorded_is_a_failure(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state.rmdir()
    state.write_text("a file")
    assert main(["estop"]) == exits.FAILED
    assert "cannot record" in capsys.readouterr().out


def test_clearing_what_is_not_set_says_so(
    peer: ScriptedBoard, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estop", "--clear"]) == exits.OK
    assert "was not set" in capsys.readouterr().out
    assert peer.reason == wire.REASON_NONE


def test_where_nothing_can_be_written_the_other_ways_to_stop_the_agent_are_named(
    state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_read_only(path: Path, _content: bytes) -> None:
        raise StorageFull(f"{path} was not written: Read-only file system")

    agent_says(state, "")
    # Neither a temporary file nor an empty one can be made, as on a read-only card
    monkeypatch.setattr(estop, "write_atomic", is_read_only)
    (state / FILE_NAME).symlink_to(state / "nowhere" / "x")
    assert main(["estop"]) == exits.FAILED
    said = capsys.readouterr().out
    assert "cannot record" in said
    assert f"(pid {os.getpid()}) does not know of it: send it /estop in a chat" in said
    assert "sudo systemctl stop barnacle" in said
