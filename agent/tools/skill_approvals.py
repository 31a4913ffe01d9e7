"""Which skills the owner has approved: each as it was then, by a hash of all its files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.storage.documents import open_documents
from agent.tools.skill_folder import Skill

if TYPE_CHECKING:
    from tinydb import TinyDB


@dataclass(frozen=True, slots=True)
class Approved:
    """A skill as the owner has read it."""

    name: str
    digest: str
    description: str


class SkillApprovals:
    """Kept in a file that the owner can read, and delete."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def every(self) -> Mapping[str, Approved]:
        # Looking makes no file
        if not self._path.exists():
            return {}
        documents = self._documents().all()
        found = [Approved(one["name"], one["digest"], one["description"]) for one in documents]
        return {one.name: one for one in sorted(found, key=lambda one: one.name)}

    def add(self, skill: Skill) -> None:
        from tinydb import where  # noqa: PLC0415 - only where the owner decides

        document = {
            "name": skill.name,
            "digest": skill.digest,
            "description": skill.description,
        }
        self._documents().upsert(document, where("name") == skill.name)

    def revoke(self, name: str) -> bool:
        from tinydb import where  # noqa: PLC0415 - as above

        return bool(self._path.exists() and self._documents().remove(where("name") == name))

    def _documents(self) -> "TinyDB":
        return open_documents(self._path)
