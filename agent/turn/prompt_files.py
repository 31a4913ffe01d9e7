"""Prompt files of the owner: IDENTITY.md, SOUL.md, USER.md, AGENTS.md of the workspace.

An identity in the form of AIEOS may go before IDENTITY.md. A tool can write there too, so a file
counts only as it was when the owner approved it, by a hash of its bytes; changed, it is left out
until it is approved again. What has not changed on the disk is not read again.
"""

import hashlib
import logging
from pathlib import Path

import msgspec
from msgspec import Struct

from agent.errors import PathRefused
from agent.security.paths import open_beneath
from agent.storage.files import write_atomic
from agent.storage.lock import locked
from agent.text.printable import printable_text

_log = logging.getLogger(__name__)

APPROVALS_FILE = "project.json"
IDENTITY = "IDENTITY.md"
FILES = (IDENTITY, "SOUL.md", "USER.md", "AGENTS.md")
# Of each; the rest is cut and said to be
MAX_CHARS = 20_000
_MAX_BYTES = 4 * MAX_CHARS + 1
_CUT = "\n[... cut: longer than {limit} characters]"
_HEADING = "## From your owner"


class ProjectFile(Struct, frozen=True):
    """One file as it is now.

    Args:
        problems: why it cannot be used; an identity alone has any.
        notes: what of it is left out.
    """

    name: str
    text: str
    digest: str
    is_approved: bool
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class ProjectFiles:
    """Reads the files.

    Args:
        approvals: where the hashes of what the owner approved are kept.
        identity: file of the workspace with an AIEOS identity; empty for none.
    """

    def __init__(self, workspace: Path, approvals: Path, identity: str = "") -> None:
        self._workspace = workspace
        self._approvals = approvals
        self._identity = identity
        # What may be there, in the order of the prompt
        self.names = ((identity,) if identity else ()) + FILES
        self._seen: tuple[object, ...] = ()
        self._section = ""

    def section(self) -> str:
        """The approved files for the prompt; empty without any."""
        seen = tuple(map(_version, [self._approvals, *(self._workspace / n for n in self.names)]))
        if seen != self._seen:
            every = self.every()
            self._log_identity(every)
            told = [f"### {one.name}\n{one.text}" for one in counted(every, self._identity)]
            self._section = "\n".join([_HEADING, *told]) if told else ""
            self._seen = seen
        return self._section

    def every(self) -> list[ProjectFile]:
        """Those that are there."""
        approved = self._approved()
        found = []
        for name in self.names:
            content = self._content(name)
            if content is not None:
                kept = approved.get(name, "")
                is_identity = name == self._identity
                found.append(
                    _identity(name, content, kept) if is_identity else _file(name, content, kept)
                )
        return found

    def _log_identity(self, every: list[ProjectFile]) -> None:
        """Say what became of the identity, once for each change."""
        if not self._identity:
            return
        one = next((file for file in every if file.name == self._identity), None)
        if one is None:
            _log.warning("prompt: no identity (file=%s)", self._identity)
        elif one.problems:
            _log.warning("prompt: invalid identity (file=%s, error=%s)", one.name, one.problems[0])
        elif not one.is_approved:
            _log.warning("prompt: identity waits for approval (file=%s)", one.name)
        elif any(file.name == IDENTITY and file.is_approved for file in every):
            _log.info("prompt: %s left out (instead=%s)", IDENTITY, one.name)

    def approve(self, name: str, digest: str) -> None:
        with locked(self._approvals):
            self._keep({**self._approved(), name: digest})

    def revoke(self, name: str) -> bool:
        """Withdraw the approval of a file; true if it was approved."""
        if name not in self._approved():
            return False
        with locked(self._approvals):
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


def counted(every: list[ProjectFile], identity: str) -> list[ProjectFile]:
    """Return the files that go into the prompt: of two approved identities the configured one."""
    approved = [file for file in every if file.is_approved]
    has_identity = any(file.name == identity for file in approved)
    return [file for file in approved if file.name != IDENTITY or not has_identity]


def _file(name: str, content: bytes, approved: str) -> ProjectFile:
    digest = hashlib.sha256(content).hexdigest()
    return ProjectFile(name, _text(content), digest, approved == digest)


def _identity(name: str, content: bytes, approved: str) -> ProjectFile:
    from agent.turn import aieos  # noqa: PLC0415 - few configure one

    found = aieos.read(content)
    text = _text(found.text.encode())
    # Of the text too: another version of ours may read more of the same file
    digest = hashlib.sha256(content + b"\0" + text.encode()).hexdigest()
    is_approved = approved == digest and not found.problems
    return ProjectFile(name, text, digest, is_approved, found.problems, found.notes)


def _version(path: Path) -> tuple[int, ...] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns


def _text(content: bytes) -> str:
    text = printable_text(content.decode("utf-8", "replace"), MAX_CHARS + 1).strip()
    return text if len(text) <= MAX_CHARS else text[:MAX_CHARS] + _CUT.format(limit=MAX_CHARS)
