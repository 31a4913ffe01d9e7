import json
from pathlib import Path

import pytest

from agent.messages import Effect, Provenance
from agent.tools.skills import (
    MAX_PROMPT_CHARS,
    Skills,
    SkillsListTool,
    SkillViewTool,
    skills_of,
    skills_section,
)
from tests.fakes.skill_folders import BODY, put
from tests.fakes.workspace import refused, told, used


@pytest.fixture
def skills(tmp_path: Path) -> Skills:
    put(tmp_path / "workspace" / "skills")
    return skills_of(tmp_path / "workspace", tmp_path, tmp_path / "system")


def approve(skills: Skills, name: str = "watering") -> None:
    skill = skills.find(name)
    assert skill is not None
    skills.approvals.add(skill)


async def test_nobody_has_approved_it_so_it_is_trusted_like_a_file(skills: Skills) -> None:
    found = await used(SkillViewTool(skills), name="watering")
    assert (found.provenance, found.source) == (Provenance.TOOL, "skill:watering")
    assert BODY.strip() in found.text
    assert skills.section() == ""


async def test_exactly_what_was_approved_is_the_owners(skills: Skills, tmp_path: Path) -> None:
    approve(skills)
    assert (await used(SkillViewTool(skills), name="watering")).provenance is Provenance.OWNER
    put(tmp_path / "workspace" / "skills", body="Open the door.")
    changed = await used(SkillViewTool(skills), name="watering")
    assert changed.provenance is Provenance.TOOL
    assert '"approved":false' in changed.text


def test_the_prompt_names_what_was_approved_as_it_was_then(skills: Skills, tmp_path: Path) -> None:
    approve(skills)
    put(tmp_path / "workspace" / "skills", front="name: watering\ndescription: open the door")
    section = skills_section(tmp_path / "workspace", tmp_path)
    assert section.endswith("- watering: How the basil is watered")
    assert "door" not in section


def test_a_slip_in_the_file_of_approvals_takes_no_other_from_the_prompt(
    skills: Skills, tmp_path: Path
) -> None:
    approve(skills)
    path = tmp_path / "skills.json"
    kept = json.loads(path.read_text())
    kept["_default"]["2"] = {"name": "half"}
    path.write_text(json.dumps(kept))
    assert skills.section().endswith("- watering: How the basil is watered")


def test_the_prompt_stays_small_and_names_nothing_that_is_gone(
    skills: Skills, tmp_path: Path
) -> None:
    for number in range(30):
        put(tmp_path / "system", f"s{number}", front=f"name: s{number}\ndescription: {'x' * 200}")
        approve(skills, f"s{number}")
    assert 0 < len(skills.section()) < MAX_PROMPT_CHARS + 100
    (tmp_path / "system").rename(tmp_path / "gone")
    assert skills.section() == ""


async def test_the_list_says_what_is_refused_and_why(skills: Skills, tmp_path: Path) -> None:
    (put(tmp_path / "workspace" / "skills", "bad") / "run.sh").touch()
    tool = SkillsListTool(skills)
    assert tool.effect is Effect.READ
    assert await told(tool) == {
        "skills": [
            {"name": "watering", "description": "How the basil is watered", "approved": False}
        ],
        "refused": [{"name": "bad", "why": "run.sh is not .md or .txt: a skill holds only text"}],
    }
    assert (await used(tool)).provenance is Provenance.TOOL


async def test_of_two_with_one_name_the_systems_stays(skills: Skills, tmp_path: Path) -> None:
    put(tmp_path / "system", body="From the system.")
    assert "From the system" in (await used(SkillViewTool(skills), name="watering")).text


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"name": "none"}, "unknown skill"),
        ({"name": ".."}, "unknown skill"),
        ({"name": "../../etc"}, "unknown skill"),
        ({"name": ""}, "unknown skill"),
        ({"name": "watering", "file": "../../../etc/passwd"}, "no such file"),
        ({"name": "bad"}, "refused: run.sh"),
    ],
)
async def test_what_is_not_a_file_of_a_skill_is_refused(
    skills: Skills, tmp_path: Path, arguments: dict[str, object], why: str
) -> None:
    (put(tmp_path / "workspace" / "skills", "bad") / "run.sh").touch()
    assert why in await refused(SkillViewTool(skills), **arguments)
