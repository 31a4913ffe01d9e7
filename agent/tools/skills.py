"""Skills: instructions in folders, for a model to read when a task is about them.

Anybody may have put a folder there, the agent itself for one: its text is trusted like a tool's
until the owner has approved exactly these files. The prompt names only what was approved.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from agent.errors import PathRefused
from agent.messages import Effect, ToolResult
from agent.passage import Passage, Provenance, own, read
from agent.security.shares import Disclosure
from agent.tools.base import Arguments, NoArguments, Tool, ToolContext
from agent.tools.files import in_thread
from agent.tools.skill_approvals import SkillApprovals
from agent.tools.skill_folder import MAIN, Skill, skill_at, skills_in

# What came with the system; of two skills with one name it stays
SYSTEM_SKILLS = Path("/usr/share/barnacle/skills")
FOLDER = "skills"
APPROVALS_FILE = "skills.json"
# A handful of lines: the first request has to stay small
MAX_PROMPT_CHARS = 1200
_HEADING = "## Skills\nRead one with skill_view before a task that it is about:"


@dataclass(frozen=True, slots=True)
class Skills:
    """Where skills are, the more trusted place first, and what the owner approved of them."""

    places: tuple[Path, ...]
    approvals: SkillApprovals

    def every(self) -> list[Skill]:
        """All of them by name, refused ones too."""
        by_name: dict[str, Skill] = {}
        for place in self.places:
            for skill in skills_in(place):
                by_name.setdefault(skill.name, skill)
        return [skill for _, skill in sorted(by_name.items())]

    def find(self, name: str) -> Skill | None:
        place = self._place_of(name)
        return skill_at(place, name) if place else None

    def is_approved(self, skill: Skill) -> bool:
        approved = self.approvals.every().get(skill.name)
        return not skill.trouble and approved is not None and approved.digest == skill.digest

    def section(self) -> str:
        """The approved skills for the prompt, as they were when approved; empty without any."""
        lines: list[str] = []
        for one in self.approvals.every().values():
            line = f"- {one.name}: {one.description}"
            if sum(map(len, lines)) + len(line) > MAX_PROMPT_CHARS:
                break
            if self._place_of(one.name):
                lines.append(line)
        return "\n".join([_HEADING, *lines]) if lines else ""

    def _place_of(self, name: str) -> Path | None:
        is_name = name and "/" not in name and name not in {".", ".."}
        return next((one for one in self.places if is_name and (one / name).is_dir()), None)


def skills_of(workspace: Path, state_dir: Path, system: Path = SYSTEM_SKILLS) -> Skills:
    return Skills((system, workspace / FOLDER), SkillApprovals(state_dir / APPROVALS_FILE))


def skills_section(workspace: Path, state_dir: Path) -> str:
    """What the prompt says of skills; reads one small file and no skill."""
    return skills_of(workspace, state_dir).section()


class ViewArguments(Arguments, frozen=True):
    """Which file of which skill."""

    name: Annotated[str, Meta(max_length=48)]
    file: Annotated[str, Meta(max_length=200)] = MAIN


class SkillsListTool(Tool[NoArguments]):
    """Names every skill."""

    reads = Provenance.TOOL
    name = "skills_list"
    description = own("List the skills: instructions for tasks, in folders.")
    effect = Effect.READ
    shown = Disclosure(trees=("skills",))
    arguments_type = NoArguments

    def __init__(self, skills: Skills) -> None:
        self._skills = skills

    async def execute(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        def listed() -> Passage:
            every = self._skills.every()
            told = {
                "skills": [
                    {
                        "name": one.name,
                        "description": one.description,
                        "approved": self._skills.is_approved(one),
                    }
                    for one in every
                    if not one.trouble
                ],
                "refused": [{"name": one.name, "why": one.trouble} for one in every if one.trouble],
            }
            return read(told, self.reads)

        return await in_thread(listed, self.reads)


class SkillViewTool(Tool[ViewArguments]):
    """Shows one file of a skill; approved words are the owner's."""

    reads = Provenance.TOOL
    name = "skill_view"
    description = own("Read a skill, or another file of it.")
    effect = Effect.READ
    shown = Disclosure(trees=("skills",))
    arguments_type = ViewArguments

    def __init__(self, skills: Skills) -> None:
        self._skills = skills

    async def execute(self, arguments: ViewArguments, context: ToolContext) -> ToolResult:
        source = f"skill:{arguments.name}"

        def view() -> Passage:
            skill = self._skills.find(arguments.name)
            if skill is None:
                raise PathRefused("there is no such skill: skills_list names them")
            if skill.trouble:
                raise PathRefused(f"this skill is refused: {skill.trouble}")
            if arguments.file not in skill.files:
                raise PathRefused(f"it has no such file, only {', '.join(skill.files)}")
            is_approved = self._skills.is_approved(skill)
            trust = Provenance.OWNER if is_approved else Provenance.TOOL
            told: dict[str, object] = {"name": skill.name, "files": list(skill.files)}
            told |= {"approved": is_approved, "text": skill.files[arguments.file]}
            return read(told, trust, source)

        return await in_thread(view, self.reads, source)
