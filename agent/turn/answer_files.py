"""Files that an answer names, `[IMAGE:path]`, as files that go with it.

Only plain files of the workspace go, a few and not too large; what cannot go is said in the text.
"""

import json
import mimetypes
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.approvals.gate import Gate
from agent.approvals.reach import reach_of_file
from agent.approvals.records import CallCircumstances
from agent.errors import PathRefused
from agent.messages import Attachment, Effect, ToolCall
from agent.security.approvals import ApprovalVoid
from agent.security.paths import open_beneath
from agent.security.policy import Verdict
from agent.text.printable import printable_line
from agent.tools.base import ToolContext

if TYPE_CHECKING:
    from agent.approvals.questions import Ask

# What the audit knows it by; no tool is called so
_NAME = "send_file"


async def complaint_about(path: str, context: ToolContext, gate: Gate, ask: "Ask") -> str:
    """Return why a file does not go; the owner is asked where it is not shared."""
    reach = reach_of_file(path, context)
    if reach.verdict is Verdict.ALLOW:
        return ""
    call = ToolCall("", _NAME, json.dumps({"path": path}))
    around = CallCircumstances(
        context.person,
        context.conversation,
        context.source,
        arguments={"path": path},
        reach=reach,
    )
    decision = await gate.admit(call, Effect.READ, context.provenance, ask, around)
    if decision.verdict is not Verdict.ALLOW:
        return decision.reason
    try:
        await gate.confirm(decision, Effect.READ)
    except ApprovalVoid as err:
        return str(err)
    return ""


MAX_FILES = 10
# What platforms take from a bot without asking
MAX_FILE_BYTES = 20 * 1024 * 1024
MAX_NAME_CHARS = 80
_MARKER = re.compile(
    r"\[(IMAGE|DOCUMENT|VIDEO|AUDIO|VOICE|FILE):([^\[\]\n]{1,2000})\]", re.IGNORECASE
)
# Where the name of a file says nothing
_KINDS = {"IMAGE": "image/png", "AUDIO": "audio/mpeg", "VOICE": "audio/ogg", "VIDEO": "video/mp4"}
_NONE: Mapping[str, str] = {}
_UNKNOWN = "application/octet-stream"


class EnclosedFiles(Struct, frozen=True):
    """The text without its markers, and the files."""

    text: str
    files: tuple[Attachment, ...] = ()


def named_files(text: str, workspace: Path) -> Sequence[str]:
    """Return the paths of the files that an answer names, each once."""
    return list(dict.fromkeys(_path(one, workspace) for one in _MARKER.finditer(text)))


def enclosed(
    text: str, workspace: Path, held: Mapping[str, str] = _NONE, *, takes_files: bool
) -> EnclosedFiles:
    """Reads the disk. Where a channel takes no files their places are told instead.

    Args:
        held: files that may not go, each with the reason.
    """
    files: list[Attachment] = []

    def taken(match: re.Match[str]) -> str:
        relative = _path(match, workspace)
        if not takes_files:
            return f"(file: {relative})"
        if relative in held:
            return f"({relative} is not sent: {held[relative]})"
        found = _file(match[1].upper(), relative, workspace)
        if isinstance(found, str):
            return f"({relative} is not sent: {found})"
        if len(files) >= MAX_FILES:
            return f"({relative} is not sent: more than {MAX_FILES} files)"
        if all(found.path != one.path for one in files):
            files.append(found)
        return ""

    left = _MARKER.sub(taken, text)
    if left != text:
        left = re.sub(r"\n{3,}", "\n\n", left).strip()
    # Something has to be said for the files to go with
    return EnclosedFiles(left or ", ".join(file.name for file in files), tuple(files))


def _path(match: re.Match[str], workspace: Path) -> str:
    return match[2].strip().removeprefix(f"{workspace}/").removeprefix("./")


def _file(kind: str, relative: str, workspace: Path) -> Attachment | str:
    """The file, or why it does not go."""
    try:
        with open_beneath(workspace, relative) as file:
            size_bytes = file.seek(0, 2)
    except PathRefused as err:
        return str(err)
    except OSError as err:
        return str(err.strerror)
    if not size_bytes:
        return "it is empty"
    if size_bytes > MAX_FILE_BYTES:
        return f"it is larger than {MAX_FILE_BYTES // 1024 // 1024} MB"
    guessed = mimetypes.guess_type(relative)[0] or _KINDS.get(kind, _UNKNOWN)
    name = printable_line(relative.rpartition("/")[2], MAX_NAME_CHARS)
    # Somebody who wants a document gets the file as it is
    media_type = _UNKNOWN if kind == "DOCUMENT" and guessed.startswith("image/") else guessed
    return Attachment(str(workspace / relative), media_type, name, size_bytes)
