"""Skills: instructions in folders that a model reads for a matching task.

Anybody may have put a folder there, even the agent itself. Its text is trusted like a tool's until
the owner has approved exactly these files. The prompt names approved skills only.
"""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta, Struct

from agent.errors import PathRefused
from agent.messages import Effect, ToolResult
from agent.passage import Passage, Provenance, own, read
from agent.security.shares import Disclosure
from agent.storage.documents import changing, open_documents
from agent.tools.base import Arguments, NoArguments, Tool, ToolContext
from agent.tools.files import in_thread
from agent.tools.skill_folder import MAIN, Skill, skill_at, skills_in

if TYPE_CHECKING:
    from tinydb import TinyDB


class Approved(Struct, frozen=True):
    """An approved skill."""

    name: str
    digest: str
    description: str


class SkillApprovals:
    """Approvals in a file that the owner can read and delete."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def every(self) -> Mapping[str, Approved]:
        # Looking makes no file
        if not self._path.exists():
            return {}
        found: list[Approved] = []
        for document in self._documents().all():
            # A slip of whoever has edited the file approves nothing
            with contextlib.suppress(msgspec.ValidationError):
                found.append(msgspec.convert(document, Approved))
        return {one.name: one for one in sorted(found, key=lambda one: one.name)}

    def add(self, skill: Skill) -> None:
        from tinydb import where  # noqa: PLC0415 - only where the owner decides

        document = {
            "name": skill.name,
            "digest": skill.digest,
            "description": skill.description,
        }
        with changing(self._path) as documents:
            documents.upsert(document, where("name") == skill.name)

    def revoke(self, name: str) -> bool:
        from tinydb import where  # noqa: PLC0415 - as above

        if not self._path.exists():
            return False
        with changing(self._path) as documents:
            return bool(documents.remove(where("name") == name))

    def _documents(self) -> "TinyDB":
        return open_documents(self._path)


# What came with the system; of two skills with one name it stays
SYSTEM_SKILLS = Path("/usr/share/barnacle/skills")
FOLDER = "skills"
APPROVALS_FILE = "skills.json"
# A handful of lines: the first request has to stay small
MAX_PROMPT_CHARS = 1200
_HEADING = "## Skills\nRead one with skill_view before a task that it is about:"


class Skills(Struct, frozen=True):
    """Folders of skills, the most trusted first, and the owner's approvals."""

    places: tuple[Path, ...]
    approvals: SkillApprovals

    def every(self) -> list[Skill]:
        """Return all skills by name, refused ones too."""
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
        """Return the approved skills for the prompt as they were approved; "" without any."""
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
    """Return the prompt's section about skills; reads one small file and no skill."""
    return skills_of(workspace, state_dir).section()


class ViewArguments(Arguments, frozen=True):
    """Name of a skill and of a file in it."""

    name: Annotated[str, Meta(max_length=48)]
    file: Annotated[str, Meta(max_length=200)] = MAIN


class SkillsListTool(Tool[NoArguments]):
    """Lists all skills."""

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
    """Shows one file of a skill; an approved one counts as the owner's words."""

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
                raise PathRefused("unknown skill: skills_list shows all names")
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
