"""Composition of the owner's texts: approved skills and approved files of the workspace.

Nothing is read again that has not changed on the disk.
"""

from pathlib import Path

from agent.passage import Passage, configured
from agent.settings import Paths
from agent.turn.prompt_files import APPROVALS_FILE, ProjectFiles


class PromptSections:
    """Gives the sections; blocking, for a thread.

    Args:
        identity: file of the workspace with an AIEOS identity; empty for none.
    """

    def __init__(self, paths: Paths, identity: str = "") -> None:
        self._paths = paths
        self.files = ProjectFiles(paths.workspace, paths.state_dir / APPROVALS_FILE, identity)
        self._skills = ""
        self._seen: tuple[object, ...] | None = None

    def sections(self) -> tuple[Passage, ...]:
        """Those that have something to say."""
        # Approved word for word by the owner
        told = filter(None, (self._skills_section(), self.files.section()))
        return tuple(map(configured, told))

    def _skills_section(self) -> str:
        from agent.tools.skills import APPROVALS_FILE as SKILL_APPROVALS  # noqa: PLC0415 - as below
        from agent.tools.skills import (  # noqa: PLC0415 - the first turn needs it, no start
            FOLDER,
            skills_section,
        )

        workspace, state_dir = self._paths.workspace, self._paths.state_dir
        seen = tuple(map(_changed_at, (state_dir / SKILL_APPROVALS, workspace / FOLDER)))
        if seen != self._seen:
            self._skills = skills_section(workspace, state_dir) if seen[0] else ""
            self._seen = seen
        return self._skills


def _changed_at(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
