from pathlib import Path

from msgspec.structs import replace

from agent.health.base import Patient
from agent.health.repairs.base import RepairResult
from agent.health.repairs.storage import make_folders


async def test_a_missing_folder_is_made_for_its_owner(patient: Patient) -> None:
    assert await make_folders(patient) == [RepairResult(f"created {patient.state_dir}")]
    assert patient.state_dir.stat().st_mode & 0o777 == 0o700
    assert await make_folders(patient) == []


async def test_where_nothing_can_be_made_a_command_is_named(patient: Patient) -> None:
    (deed,) = await make_folders(replace(patient, state_dir=Path("/proc/barnacle/state")))
    assert not deed.is_done
    assert "sudo install -d" in deed.sentence
