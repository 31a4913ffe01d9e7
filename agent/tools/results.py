"""Long results: the model gets the beginning, and the whole is stored for a day.

The name of a stored result holds its trust, so that reading it again lowers the trust of a turn
as the first time. Number, age and bytes are limited; each new result removes old ones.
"""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from agent.errors import BarnacleError, PathRefused
from agent.messages import ToolResult
from agent.security.paths import list_beneath, remove_beneath, write_beneath
from agent.system.clock import Clock
from agent.tools.base import AnyTool
from agent.tools.files import DISK_TIMEOUT_S, RESULTS_FOLDER
from agent.tools.result_names import NAME, name_of

# Key of the sentence that says what is missing and how to read it
CUT_KEY = "cut"
# Key for the entries of a list, which has no keys itself
ENTRIES_KEY = "entries"
# Follows a text that goes on
_MORE = "…"
# Of a long text the beginning says most, and the end of a log what came of it
_HEAD_PARTS, _PARTS = 2, 3
# A value shortened below this is left out
_LEAST_BYTES = 8
_LINE_END = "\n"


def _encode(value: object) -> bytes:
    """Encode compactly, with numbers of any size."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return written.encode(errors="replace")


class _LeftOut:
    """Marker for a value that was left out."""


_LEFT_OUT = _LeftOut()


class _NoValues(Exception):
    """The text is no object and no list."""


def shortened(text: str, limit_bytes: int, sentence: str) -> str:
    """Return at most so many bytes with the sentence in them; return a short text unchanged.

    The limit has room for the sentence and a little more.
    """
    if len(text.encode(errors="replace")) <= limit_bytes:
        return text
    room = limit_bytes - len(_encode(sentence)) - len(f'{{"{ENTRIES_KEY}":,"{CUT_KEY}":}}')
    try:
        return _shortened_values(_structure(text), room, sentence)
    except (_NoValues, RecursionError):
        # What a Python reads may still be nested too deeply to be followed
        return f"{_lines(text, room).removesuffix(_LINE_END)}\n[{CUT_KEY}: {sentence}]"


def _shortened_values(value: object, room: int, sentence: str) -> str:
    if isinstance(value, dict):
        # The sentence is ours alone: what has its name already gives way
        rest = _fields({key: one for key, one in value.items() if key != CUT_KEY}, room)
        return _encode({**rest, CUT_KEY: sentence}).decode()
    if isinstance(value, list):
        return _encode({ENTRIES_KEY: _entries(value, room), CUT_KEY: sentence}).decode()
    raise _NoValues


def _structure(text: str) -> object:
    """Return JSON as values; None if the text is not JSON or cannot be written again."""
    try:
        value: object = json.loads(text)
        _encode(value)
    except ValueError:
        return None
    return value


def _fitted(value: object, room: int) -> object:
    if len(_encode(value)) <= room:
        return value
    if room < _LEAST_BYTES:
        return _LEFT_OUT
    if isinstance(value, str):
        return _beginning(value, room)
    if isinstance(value, list):
        return _entries(value, room)
    if isinstance(value, dict):
        return _fields(value, room)
    return _LEFT_OUT


def _entries(values: Sequence[object], room: int) -> list[object]:
    """Return the first entries; shorten the first one rather than show nothing."""
    kept: list[object] = []
    room -= len("[]")
    for value in values:
        if (size := len(_encode(value)) + len(",")) > room:
            break
        kept.append(value)
        room -= size
    if not kept and not isinstance(first := _fitted(values[0], room), _LeftOut):
        kept.append(first)
    return kept


def _fields(fields: Mapping[str, object], room: int) -> dict[str, object]:
    """Return all fields that fit: short ones whole, long ones shortened."""
    room -= len("{}")
    fitted: dict[str, object] = {}
    sizes = {key: len(_encode(key)) + len(":,") for key in fields}
    by_size = sorted(fields, key=lambda key: len(_encode(fields[key])))
    for position, key in enumerate(by_size):
        share = room // (len(by_size) - position) - sizes[key]
        value = _fitted(fields[key], share)
        if not isinstance(value, _LeftOut):
            fitted[key] = value
            room -= sizes[key] + len(_encode(value))
    return {key: fitted[key] for key in fields if key in fitted}


def _beginning(text: str, room: int) -> str:
    """Return the first lines, or the first characters, as JSON writes them."""
    room -= len(_encode(_MORE))
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if len(_encode(text[:middle])) - len('""') <= room:
            low = middle
        else:
            high = middle - 1
    kept = text[:low]
    whole_lines = kept.rfind("\n") + 1
    return (kept[:whole_lines] if whole_lines else kept) + _MORE


def _lines(text: str, room: int) -> str:
    """Return the first and last lines, and the number of lines between them."""
    lines = text.splitlines(keepends=True)
    room -= len(f"{_MORE} [{len(lines)} lines left out]\n".encode()) + len(_MORE.encode())
    head = _that_fit(lines, room * _HEAD_PARTS // _PARTS)
    tail = _that_fit(lines[:head:-1], room - len("".join(lines[:head]).encode(errors="replace")))
    if not head:
        return _characters(text, room) + _MORE
    missing = f"{_MORE} [{len(lines) - head - tail} lines left out]\n"
    return "".join([*lines[:head], missing, *lines[len(lines) - tail :]])


def _that_fit(lines: Sequence[str], room: int) -> int:
    for count, line in enumerate(lines):
        room -= len(line.encode(errors="replace"))
        if room < 0:
            return count
    return len(lines)


def _characters(text: str, room: int) -> str:
    """Return as many whole characters as fit."""
    return text.encode(errors="replace")[: max(room, 0)].decode(errors="ignore")


# Some eight thousand tokens: a few of them fit into any window
MAX_RESULT_BYTES = 32 * 1024
# Of one result; beyond it nobody reads
MAX_KEPT_BYTES = 2 * 1024 * 1024
MAX_KEPT_FILES = 32
MAX_KEPT_TOTAL_BYTES = 8 * 1024 * 1024
# A conversation returns to a result on the same day, or asks again
MAX_KEPT_AGE_S = 24 * 3600
# Longer lines are split, so that any result can be read in parts
MAX_LINE_CHARS = 2000
# Far more than are ever kept
_MAX_LOOKED_AT = 1000


class Results(Struct, frozen=True):
    """Keeps long results beneath the workspace."""

    workspace: Path
    clock: Clock

    async def bounded(self, tool: AnyTool, result: ToolResult) -> ToolResult:
        """Return the result short enough for a model; the rest can be read later."""
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
        path = f"{RESULTS_FOLDER}/{name_of(tool, result.provenance, self.clock.wall_s())}"
        kept = content[:MAX_KEPT_BYTES]
        self._make_room(len(kept))
        write_beneath(self.workspace, path, kept.decode(errors="ignore").encode())
        what = "the whole" if len(kept) == len(content) else f"the first {MAX_KEPT_BYTES} bytes"
        return f"{what} of {len(lines)} lines is in {path} for a day; file_read reads it in parts"

    def _make_room(self, size_bytes: int) -> None:
        """Remove expired results, then the oldest, until one more fits."""
        try:
            entries = list_beneath(self.workspace, RESULTS_FOLDER, _MAX_LOOKED_AT)
        except PathRefused:
            # There is no such folder yet; whatever else it is, writing says it
            return
        # Names begin with the time, so they are in order of age
        ours = [entry for entry in entries if NAME.fullmatch(entry.name)]
        oldest = f"{int(self.clock.wall_s() - MAX_KEPT_AGE_S):010}"
        total = sum(entry.size_bytes for entry in ours) + size_bytes
        for position, entry in enumerate(ours):
            left = len(ours) - position
            fits = left < MAX_KEPT_FILES and total <= MAX_KEPT_TOTAL_BYTES
            if fits and entry.name >= oldest:
                return
            remove_beneath(self.workspace, f"{RESULTS_FOLDER}/{entry.name}")
            total -= entry.size_bytes


def _lines_of(text: str) -> Iterator[str]:
    """Yield the text in lines of readable length; JSON gets a line for each entry."""
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
