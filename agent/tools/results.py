"""Results that are too long for a model: it gets the beginning, and the whole is kept for a while.

What is kept carries in its name how far it can be trusted, so that reading it again lowers the
trust of a turn as the first time. Bounded in number, age and bytes; cleaned at every new one.
"""

import asyncio
import json
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.clock import Clock
from agent.errors import BarnacleError, PathRefused
from agent.messages import Provenance, ToolResult
from agent.security.paths import list_beneath, remove_beneath, write_beneath
from agent.tools.base import AnyTool
from agent.tools.files import DISK_TIMEOUT_S, RESULTS_FOLDER
from agent.tools.truncation import shortened

# Some eight thousand tokens: a few of them fit into any window
MAX_RESULT_BYTES = 32 * 1024
# Of one result; beyond it nobody reads
MAX_KEPT_BYTES = 2 * 1024 * 1024
MAX_KEPT_FILES = 32
MAX_KEPT_TOTAL_BYTES = 8 * 1024 * 1024
# A conversation comes back to it the same day or asks again
MAX_KEPT_AGE_S = 24 * 3600
# So that it can be read in pieces whatever it was
MAX_LINE_CHARS = 2000
# Far more than are ever kept
_MAX_LOOKED_AT = 1000
_NAME = re.compile(r"(\d{10})-[0-9a-f]{8}-[a-zA-Z0-9_-]{1,48}\.([a-z]+)\.txt")
_UNNAMEABLE = re.compile(r"[^a-zA-Z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Results:
    """Keeps long results beneath the workspace."""

    workspace: Path
    clock: Clock

    async def bounded(self, tool: AnyTool, result: ToolResult) -> ToolResult:
        """The result, short enough for a model; what is cut off can be read on."""
        is_short = len(result.text.encode(errors="replace")) <= MAX_RESULT_BYTES
        if is_short or tool.reads_on:
            return result
        try:
            async with asyncio.timeout(DISK_TIMEOUT_S):
                sentence = await asyncio.to_thread(self._keep, tool.name, result)
        except TimeoutError:
            sentence = "the rest could not be kept: the storage did not answer in time"
        except BarnacleError as err:
            sentence = f"the rest could not be kept: {err}"
        return result.saying(shortened(result.text, MAX_RESULT_BYTES, sentence))

    def _keep(self, tool: str, result: ToolResult) -> str:
        lines = list(_lines_of(result.text))
        content = "".join(f"{line}\n" for line in lines).encode(errors="replace")
        path = f"{RESULTS_FOLDER}/{self._name(tool, result.provenance)}"
        kept = content[:MAX_KEPT_BYTES]
        self._make_room(len(kept))
        write_beneath(self.workspace, path, kept.decode(errors="ignore").encode())
        what = "the whole" if len(kept) == len(content) else f"the first {MAX_KEPT_BYTES} bytes"
        return f"{what} of {len(lines)} lines is in {path} for a day; file_read reads it in parts"

    def _name(self, tool: str, provenance: Provenance) -> str:
        word = provenance.name.lower()
        plain = _UNNAMEABLE.sub("_", tool)[:48] or "tool"
        return f"{int(self.clock.wall_s()):010}-{secrets.token_hex(4)}-{plain}.{word}.txt"

    def _make_room(self, size_bytes: int) -> None:
        """Remove what is too old, and then the oldest, until there is room for one more."""
        try:
            entries = list_beneath(self.workspace, RESULTS_FOLDER, _MAX_LOOKED_AT)
        except PathRefused:
            # There is no such folder yet; whatever else it is, writing says it
            return
        # Names begin with the time, so they are in order of age
        ours = [entry for entry in entries if _NAME.fullmatch(entry.name)]
        oldest = f"{int(self.clock.wall_s() - MAX_KEPT_AGE_S):010}"
        total = sum(entry.size_bytes for entry in ours) + size_bytes
        for position, entry in enumerate(ours):
            left = len(ours) - position
            fits = left < MAX_KEPT_FILES and total <= MAX_KEPT_TOTAL_BYTES
            if fits and entry.name >= oldest:
                return
            remove_beneath(self.workspace, f"{RESULTS_FOLDER}/{entry.name}")
            total -= entry.size_bytes


def trust_of(name: str) -> Provenance:
    """How far a kept result can be trusted: as the first time, and never more than a file."""
    found = _NAME.fullmatch(name)
    if found is None:
        return Provenance.WEB
    by_word = {one.name.lower(): one for one in Provenance}
    return min(Provenance.TOOL, by_word.get(found[2], Provenance.WEB))


def _lines_of(text: str) -> Iterator[str]:
    """The text in lines of a length that can be read in pieces; JSON with a line for each entry."""
    for line in _spread(text).splitlines():
        if len(line) <= MAX_LINE_CHARS:
            yield line
            continue
        # A long text in JSON has its line ends as two characters
        for piece in re.split(r"(?<=\\n)", line):
            starts = range(0, max(len(piece), 1), MAX_LINE_CHARS)
            yield from (piece[start : start + MAX_LINE_CHARS] for start in starts)


def _spread(text: str) -> str:
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    except (ValueError, RecursionError):
        return text
