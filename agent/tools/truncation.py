"""Long results made short by their structure: entries of JSON, lines of text, whole characters.

JSON stays JSON and what is left out is said in it. Pure: where the whole is kept, others know.
"""

import json
from collections.abc import Mapping, Sequence

# What says that something is missing, and how to get at it
CUT_KEY = "cut"
# A list has no place for a key: its entries are put under this one
ENTRIES_KEY = "entries"
# Follows a text that goes on
_MORE = "…"
# Of a long text the beginning says most, and the end of a log what came of it
_HEAD_PARTS, _PARTS = 2, 3
# Below this a value says nothing any more and is left out
_LEAST_BYTES = 8
_LINE_END = "\n"


def _encode(value: object) -> bytes:
    """Compact, and with numbers of any size."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return written.encode(errors="replace")


class _LeftOut:
    """In the place of a value for which there is no room."""


_LEFT_OUT = _LeftOut()


def shortened(text: str, limit_bytes: int, sentence: str) -> str:
    """At most so many bytes with the sentence in them; the same text where it fits.

    The limit has room for the sentence and a little more.
    """
    if len(text.encode(errors="replace")) <= limit_bytes:
        return text
    room = limit_bytes - len(_encode(sentence)) - len(f'{{"{ENTRIES_KEY}":,"{CUT_KEY}":}}')
    value = _structure(text)
    if isinstance(value, dict):
        # The sentence is ours alone: what has its name already gives way
        rest = _fields({key: one for key, one in value.items() if key != CUT_KEY}, room)
        return _encode({**rest, CUT_KEY: sentence}).decode()
    if isinstance(value, list):
        return _encode({ENTRIES_KEY: _entries(value, room), CUT_KEY: sentence}).decode()
    return f"{_lines(text, room).removesuffix(_LINE_END)}\n[{CUT_KEY}: {sentence}]"


def _structure(text: str) -> object:
    """JSON as values; None where it is none, or cannot be written again."""
    try:
        value: object = json.loads(text)
        _encode(value)
    except (ValueError, RecursionError):
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
    """The first entries, whole; the first of all is shortened rather than nothing shown."""
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
    """All fields as far as there is room: the short ones whole, the long ones with what is left."""
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
    """The first lines, else the first characters, as they are written in JSON."""
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
    """The first lines and the last ones, and how many are between them."""
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
    """As many whole characters."""
    return text.encode(errors="replace")[: max(room, 0)].decode(errors="ignore")
