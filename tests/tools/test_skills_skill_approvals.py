from pathlib import Path

from agent.tools.skill_folder import Skill
from agent.tools.skills import Approved, SkillApprovals

SKILL = Skill("watering", "how", {"SKILL.md": "x"}, "ab" * 32)


def test_what_was_approved_is_known_to_the_next(tmp_path: Path) -> None:
    path = tmp_path / "skills.json"
    SkillApprovals(path).add(SKILL)
    SkillApprovals(path).add(SKILL)
    assert SkillApprovals(path).every() == {"watering": Approved("watering", "ab" * 32, "how")}
    assert SkillApprovals(path).revoke("watering")
    assert not SkillApprovals(path).revoke("watering")
    assert SkillApprovals(path).every() == {}


def test_looking_makes_no_file(tmp_path: Path) -> None:
    approvals = SkillApprovals(tmp_path / "skills.json")
    assert approvals.every() == {}
    assert not approvals.revoke("watering")
    assert list(tmp_path.iterdir()) == []
