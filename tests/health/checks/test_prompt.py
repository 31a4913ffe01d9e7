import dataclasses
from pathlib import Path

from agent.health.base import Level, Patient
from agent.health.checks import prompt
from agent.turn.prompt_files import APPROVALS_FILE, ProjectFiles


async def test_files_of_the_owners_are_named_with_what_to_do(
    patient: Patient, tmp_path: Path
) -> None:
    looked_at = dataclasses.replace(patient, workspace=tmp_path)
    assert (await prompt.check_prompt(looked_at)).sentence == "no files of yours in it"
    (tmp_path / "SOUL.md").write_text("Be kind.")
    finding = await prompt.check_prompt(looked_at)
    assert finding.level is Level.OK
    assert "SOUL.md (see `barnacle prompt show NAME`)" in finding.sentence
    files = ProjectFiles(tmp_path, patient.state_dir / APPROVALS_FILE)
    for one in files.every():
        files.approve(one.name, one.digest)
    assert (await prompt.check_prompt(looked_at)).sentence == "SOUL.md"


async def test_without_a_workspace_there_is_nothing_to_say(patient: Patient) -> None:
    assert (await prompt.check_prompt(patient)).level is Level.OK
