"""Prompt files of the owner: IDENTITY.md, SOUL.md, USER.md, AGENTS.md of the workspace.

A tool can write there too, so a file counts only as it was when the owner approved it, by a hash
of its bytes; changed, it is left out until it is approved again. What has not changed on the disk
is not read again.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from agent.errors import PathRefused
from agent.security.paths import open_beneath
from agent.storage.files import write_atomic
from agent.text.printable import printable_text

APPROVALS_FILE = "project.json"
FILES = ("IDENTITY.md", "SOUL.md", "USER.md", "AGENTS.md")
# Of each; the rest is cut and said to be
MAX_CHARS = 20_000
_MAX_BYTES = 4 * MAX_CHARS + 1
_CUT = "\n[... cut: longer than {limit} characters]"
_HEADING = "## From your owner"


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """One file as it is now."""

    name: str
    text: str
    digest: str
    is_approved: bool


class ProjectFiles:
    """Reads the files.

    Args:
        approvals: where the hashes of what the owner approved are kept.
    """

    def __init__(self, workspace: Path, approvals: Path) -> None:
        self._workspace = workspace
        self._approvals = approvals
        self._seen: tuple[object, ...] = ()
        self._section = ""

    def section(self) -> str:
        """The approved files for the prompt; empty without any."""
        seen = tuple(map(_version, [self._approvals, *(self._workspace / n for n in FILES)]))
        if seen != self._seen:
            told = [f"### {one.name}\n{one.text}" for one in self.every() if one.is_approved]
            self._section = "\n".join([_HEADING, *told]) if told else ""
            self._seen = seen
        return self._section

    def every(self) -> list[ProjectFile]:
        """Those that are there."""
        approved = self._approved()
        found = []
        for name in FILES:
            content = self._content(name)
            if content is not None:
                digest = hashlib.sha256(content).hexdigest()
                is_approved = approved.get(name) == digest
                found.append(ProjectFile(name, _text(content), digest, is_approved))
        return found

    def approve(self, name: str, digest: str) -> None:
        self._keep({**self._approved(), name: digest})

    def revoke(self, name: str) -> bool:
        """Withdraw the approval of a file; true if it was approved."""
        approved = self._approved()
        was_there = approved.pop(name, None) is not None
        if was_there:
            self._keep(approved)
        return was_there

    def _content(self, name: str) -> bytes | None:
        try:
            with open_beneath(self._workspace, name) as file:
                return file.read(_MAX_BYTES)
        except (PathRefused, OSError):
            return None

    def _approved(self) -> dict[str, str]:
        try:
            return msgspec.json.decode(self._approvals.read_bytes(), type=dict[str, str])
        except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
            # Absence is denial
            return {}

    def _keep(self, approved: dict[str, str]) -> None:
        write_atomic(self._approvals, msgspec.json.format(msgspec.json.encode(approved), indent=2))


def _version(path: Path) -> tuple[int, ...] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns


def _text(content: bytes) -> str:
    text = printable_text(content.decode("utf-8", "replace"), MAX_CHARS + 1).strip()
    return text if len(text) <= MAX_CHARS else text[:MAX_CHARS] + _CUT.format(limit=MAX_CHARS)
