import asyncio
import socket
from pathlib import Path

from agent.channels.attached.socket import listening
from agent.health.base import Patient
from agent.health.repairs.base import RepairResult
from agent.health.repairs.storage import remove_leftovers
from agent.storage import lock


def stale(folder: Path) -> Path:
    """A socket whose agent was killed."""
    folder.mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(folder / "chat.sock"))
    return folder / "chat.sock"


async def test_a_folder_without_a_socket_is_left_alone(patient: Patient) -> None:
    assert await remove_leftovers(patient) == []
    assert not patient.state_dir.exists()


async def test_a_socket_of_nobody_is_removed(patient: Patient) -> None:
    path = stale(patient.state_dir)
    assert await remove_leftovers(patient) == [RepairResult(f"removed the stale socket {path}")]
    assert not path.exists()
    assert await remove_leftovers(patient) == []


async def test_the_socket_of_an_agent_at_work_stays(patient: Patient) -> None:
    patient.state_dir.mkdir()
    path = patient.state_dir / "chat.sock"
    with lock.hold(patient.state_dir), listening(path, patient.state_dir):
        assert await remove_leftovers(patient) == []
        assert await asyncio.to_thread(path.is_socket)


async def test_what_is_no_socket_is_somebodys(patient: Patient) -> None:
    patient.state_dir.mkdir()
    (patient.state_dir / "chat.sock").write_text("mine")
    assert await remove_leftovers(patient) == []
    assert (patient.state_dir / "chat.sock").read_text() == "mine"
