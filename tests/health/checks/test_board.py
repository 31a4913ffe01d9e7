import os

import msgspec
import pytest
from msgspec.structs import replace

from agent.health import visit
from agent.health.base import Level, Patient
from agent.health.checks.board import check_board
from agent.health.status import AgentStatus, BoardReport, own_start_ticks, write_status
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from agent.system.clock import SystemClock
from tests.fakes.peer import ScriptedBoard
from tests.fakes.ports import FakePort, FakePorts


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visit, "READY_TIMEOUT_S", 0.4)
    monkeypatch.setattr(visit, "_ABSENT_TIMEOUT_S", 0.1)


def running(board: BoardReport) -> AgentStatus:
    return AgentStatus(pid=os.getpid(), start_ticks=own_start_ticks(), since_s=0.0, board=board)


async def test_a_board_that_answers_is_fine(patient: Patient) -> None:
    machine = FakePorts(lambda: FakePort(ScriptedBoard()))
    found = await check_board(with_ports(patient, machine))
    assert found.level is Level.OK
    assert found.sentence == "scripted (firmware 0.1.0) answers at /dev/fake-port"


async def test_no_board_at_all_is_a_warning(patient: Patient) -> None:
    found = await check_board(patient)
    assert found.level is Level.WARNING
    assert "not found" in found.sentence


async def test_no_board_at_all_is_no_worse_beside_the_running_agent(patient: Patient) -> None:
    write_status(patient.status_file, running(BoardReport(trouble="no board found on USB")))
    found = await check_board(patient)
    assert found.level is Level.WARNING
    assert "no board found on USB" in found.sentence
    expected = await check_board(replace(patient, needs_board=True))
    assert expected.level is Level.FAILED


async def test_a_configured_port_without_a_board_is_failed(patient: Patient) -> None:
    found = await check_board(replace(patient, needs_board=True))
    assert found.level is Level.FAILED


async def test_something_else_at_the_port_is_failed(patient: Patient, ports: FakePorts) -> None:
    ports.plug_in()
    found = await check_board(patient)
    assert found.level is Level.FAILED
    assert "/dev/fake-port" in found.sentence


async def test_a_port_that_is_taken_is_failed_with_the_reason(
    patient: Patient, ports: FakePorts
) -> None:
    ports.plug_in()
    ports.refusal = "another program uses /dev/fake-port: stop it first"
    assert "another program" in (await check_board(patient)).sentence


async def test_the_running_agent_answers_for_its_board(patient: Patient, ports: FakePorts) -> None:
    board = BoardReport(state="ready", port="/dev/ttyACM0", board="blackpill")
    write_status(patient.status_file, running(board))
    found = await check_board(patient)
    assert found.level is Level.OK
    assert "running agent" in found.sentence
    assert ports.opened == []


async def test_the_running_agents_trouble_is_told(patient: Patient) -> None:
    board = BoardReport(state="connecting", trouble="nobody answers")
    write_status(patient.status_file, running(board))
    found = await check_board(patient)
    assert found.level is Level.FAILED
    assert "nobody answers" in found.sentence


def with_ports(patient: Patient, machine: FakePorts) -> Patient:
    folder = patient.state_dir / "manifests"
    return replace(
        patient, make_boards=lambda: [SerialBoard(BoardSettings(), folder, SystemClock(), machine)]
    )


async def test_a_board_that_works_with_a_trouble_is_a_warning(patient: Patient) -> None:
    board = BoardReport(state="ready", port="/dev/ttyACM0", trouble="its outputs are locked")
    write_status(patient.status_file, running(board))
    found = await check_board(patient)
    assert found.level is Level.WARNING
    assert "its outputs are locked" in found.sentence


async def test_one_of_several_boards_that_is_away_is_named_beside_the_other(
    patient: Patient,
) -> None:
    well = BoardReport(state="ready", port="/dev/a", board="blackpill", name="garden")
    away = BoardReport(state="absent", port="/dev/b", name="cellar")
    status = replace_boards(running(well), well, away)
    write_status(patient.status_file, status)
    found = await check_board(patient)
    assert found.level is Level.FAILED
    assert "blackpill answers" in found.sentence
    assert "cellar is absent" in found.sentence


def replace_boards(status: AgentStatus, *boards: BoardReport) -> AgentStatus:
    return msgspec.structs.replace(status, boards=boards)
