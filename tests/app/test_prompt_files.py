from pathlib import Path

from agent.app.prompt_files import PromptSections
from agent.settings import Paths
from agent.tools.skills import skills_of
from tests.fakes.skill_folders import put


def test_only_what_the_owner_approved_is_told(tmp_path: Path) -> None:
    paths = Paths(None, tmp_path)
    put(paths.workspace / "skills")
    (paths.workspace / "USER.md").write_text("Ann")
    briefing = PromptSections(paths)
    assert briefing.sections() == ()
    skills = skills_of(paths.workspace, paths.state_dir)
    for skill in skills.every():
        skills.approvals.add(skill)
    for file in briefing.files.every():
        briefing.files.approve(file.name, file.digest)
    about_skills, about_files = briefing.sections()
    assert about_skills.text.startswith("## Skills")
    assert about_files.text.endswith("Ann")
    assert briefing.sections() == (about_skills, about_files)
