from pathlib import Path

from msgspec import structs

from agent.health.base import Finding, Level, Patient
from agent.health.checks import config
from agent.tools.skills import skills_of
from tests.fakes.skill_folders import put


async def found(patient: Patient, workspace: Path) -> Finding:
    return await config.check_skills(structs.replace(patient, workspace=workspace))


async def test_it_says_which_are_refused_not_read_or_approved(
    patient: Patient, tmp_path: Path
) -> None:
    assert (await found(patient, tmp_path)).sentence == "no skills"
    folder = put(tmp_path / "skills")
    assert "not approved, so less trusted: watering" in (await found(patient, tmp_path)).sentence
    known = skills_of(tmp_path, patient.state_dir)
    known.approvals.add(known.every()[0])
    assert await found(patient, tmp_path) == Finding.ok("1 approved")
    (folder / "run.sh").touch()
    finding = await found(patient, tmp_path)
    assert finding.level is Level.WARNING
    assert "run.sh" in finding.sentence


async def test_without_a_workspace_there_is_nothing_to_say(patient: Patient) -> None:
    assert (await config.check_skills(patient)).level is Level.OK
