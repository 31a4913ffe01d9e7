"""Identity in the form of AIEOS 1.x (AI Entity Object Specification), made into a prompt's text.

The same file gives the same text. Whatever is wrong is named by its path in the file; what the
standard does not know is left out and named, too.
"""

import re
from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct, field

from agent.text.printable import printable_line
from agent.turn.aieos_parts import EVENT, TOLD, UNTOLD, Kind, Part

# Several times the largest example of the standard
MAX_BYTES = 64 * 1024
# Of one text: an origin story is a page at most
MAX_TEXT_CHARS = 4000
MAX_ITEMS = 50
# Years, centimetres and kilograms are far below
_MOST = 1_000_000
# One screen; what follows is mostly the same mistake again
MAX_NAMED = 20
_VERSION = re.compile(r"v?1(?:\.[0-9]{1,4}){0,2}")
_PROTOCOL = "AIEOS"
# JSON-LD: types, contexts and remarks of the standard
_REMARK = "@"
_SHOWN_CHARS = 40
_PLACE = re.compile(r"\(byte ([0-9]+)\)")


class AieosIdentity(Struct):
    """Identity of a file.

    Args:
        text: for the prompt; empty where something is wrong.
        problems: why it cannot be used, each with its path.
        notes: what is left out, each with its path.
    """

    text: str = ""
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class _Findings(Struct):
    problems: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)

    def refuse(self, path: str, wanted: str, value: object) -> None:
        shown = printable_line(msgspec.json.encode(value).decode(), _SHOWN_CHARS)
        self.problems.append(f"{path}: must be {wanted}, not {shown}")


def read(content: bytes) -> AieosIdentity:
    """Return the identity of a file, or what is wrong with it."""
    if len(content) > MAX_BYTES:
        return AieosIdentity(problems=(f"the file is longer than {MAX_BYTES // 1024} KB",))
    try:
        document = msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as err:
        return AieosIdentity(problems=(_syntax_problem(content, err),))
    if not isinstance(document, dict):
        return AieosIdentity(
            problems=("$: must be an object with identity, psychology and others",)
        )
    found = _Findings()
    _check_standard(document, found)
    sections = list(_sections(document, found))
    if not sections and not found.problems:
        found.problems.append(
            "$: tells nothing: fill in identity, psychology, linguistics or others"
        )
    problems = tuple(_first(found.problems))
    text = "" if problems else "\n".join(sections)
    return AieosIdentity(text, problems, tuple(_notes(found)))


def _syntax_problem(content: bytes, err: Exception) -> str:
    if isinstance(err, RecursionError):
        return "$: is nested too deeply"
    place = _PLACE.search(str(err))
    if place is None:
        return f"the file cannot be read as JSON: {printable_line(str(err), MAX_TEXT_CHARS)}"
    before = content[: int(place[1])]
    line = before.count(b"\n") + 1
    column = len(before) - before.rfind(b"\n")
    what = str(err)[: place.start()].strip()
    return f"the file is not JSON (line {line}, column {column}): {printable_line(what, 200)}"


def _check_standard(document: Mapping[str, object], found: _Findings) -> None:
    standard = document.get("standard", {})
    if not isinstance(standard, dict):
        found.refuse("$.standard", "an object", standard)
        return
    protocol = standard.get("protocol", _PROTOCOL)
    if protocol != _PROTOCOL:
        found.refuse("$.standard.protocol", f'"{_PROTOCOL}"', protocol)
    version = standard.get("version", "1")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        found.refuse("$.standard.version", "1.x", version)


def _sections(document: Mapping[str, object], found: _Findings) -> Iterator[str]:
    for name in document:
        if name not in TOLD and not name.startswith(_REMARK):
            (found.untold if name in UNTOLD else found.unknown).append(f"$.{_shown(name)}")
    # In the order of the standard, whatever that of the file
    for name, parts in TOLD.items():
        if name in document:
            lines = list(_lines(document[name], parts, name, found))
            if lines:
                yield "\n".join([f"#### {_label(name)}", *lines])


def _lines(
    value: object, parts: Mapping[str, Part], section: str, found: _Findings
) -> Iterator[str]:
    """Yield a line for each group of a section that is filled in."""
    if isinstance(value, str):
        if told := _told(value, Kind.TEXT, f"$.{section}", found):
            yield f"- {told}"
        return
    for name, part, inner in _known(value, parts, section, found):
        if told := _told(inner, part, f"$.{section}.{name}", found):
            yield f"- {_label(name)}: {told}"


def _known(
    value: object, parts: Mapping[str, Part], where: str, found: _Findings
) -> Iterator[tuple[str, Part, object]]:
    """Yield the parts that are there with their values, in the standard's order; note others."""
    if not isinstance(value, dict):
        found.refuse(f"$.{where}", "an object or a text", value)
        return
    for name in value:
        path = f"{where}.{name}"
        if name not in parts and not name.startswith(_REMARK):
            (found.untold if path in UNTOLD else found.unknown).append(f"$.{_shown(path)}")
    yield from ((name, part, value[name]) for name, part in parts.items() if name in value)


def _told(value: object, part: Part, path: str, found: _Findings) -> str:
    """Return a value in words; empty where it is not filled in or not of its kind."""
    if value is None:
        return ""
    if not isinstance(part, Kind):
        return _group(value, part, path, found)
    if part in {Kind.TEXTS, Kind.EVENTS}:
        each = _each if part is Kind.TEXTS else _events
        return ", ".join(filter(None, each(value, path, found)))
    plain = {Kind.TEXT: _text, Kind.FLAG: _flag}.get(part)
    return plain(value, path, found) if plain else _number(value, part, path, found)


def _group(value: object, parts: Mapping[str, Part], path: str, found: _Findings) -> str:
    if isinstance(value, str):
        return _text(value, path, found)
    told, is_filled = list[str](), False
    for name, part, inner in _known(value, parts, path.removeprefix("$."), found):
        if words := _told(inner, part, f"{path}.{name}", found):
            told.append(
                f"{_word(name)}: {words}" if isinstance(part, Kind) else f"{_word(name)} ({words})"
            )
            # A form that nobody filled in has noughts and flags
            is_filled = is_filled or not _is_blank(inner)
    return "; ".join(told) if is_filled else ""


def _is_blank(value: object) -> bool:
    return isinstance(value, bool) or value == 0


def _text(value: object, path: str, found: _Findings) -> str:
    if not isinstance(value, str):
        found.refuse(path, Kind.TEXT.value, value)
        return ""
    if len(value) > MAX_TEXT_CHARS:
        found.problems.append(f"{path}: is longer than {MAX_TEXT_CHARS} characters")
        return ""
    # One line: no text begins a section of the prompt
    return " ".join(printable_line(value, MAX_TEXT_CHARS).split())


def _each(value: object, path: str, found: _Findings) -> Iterator[str]:
    if isinstance(value, str):
        yield _text(value, path, found)
        return
    for index, one in enumerate(_items(value, path, Kind.TEXTS, found)):
        yield _text(one, f"{path}[{index}]", found)


def _items(value: object, path: str, kind: Kind, found: _Findings) -> list[object]:
    if not isinstance(value, list):
        found.refuse(path, kind.value, value)
        return []
    if len(value) > MAX_ITEMS:
        found.problems.append(f"{path}: has {len(value)} items, at most {MAX_ITEMS} are taken")
        return []
    return value


def _events(value: object, path: str, found: _Findings) -> Iterator[str]:
    for index, one in enumerate(_items(value, path, Kind.EVENTS, found)):
        if told := _group(one, EVENT, f"{path}[{index}]", found):
            yield f"({told})"


def _flag(value: object, path: str, found: _Findings) -> str:
    if not isinstance(value, bool):
        found.refuse(path, Kind.FLAG.value, value)
        return ""
    return "yes" if value else "no"


def _number(value: object, kind: Kind, path: str, found: _Findings) -> str:
    # For Python a flag is a number
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    number = float(value) if is_number else -1.0  # type: ignore[arg-type]  # see above
    is_of_kind = number <= 1 if kind is Kind.SHARE else number.is_integer()
    if not 0 <= number <= _MOST or not is_of_kind:
        found.refuse(path, kind.value, value)
        return ""
    return f"{number:g}" if kind is Kind.SHARE else f"{int(number)}"


def _word(name: str) -> str:
    return name.replace("_", " ")


def _label(name: str) -> str:
    return _word(name).capitalize()


def _shown(path: str) -> str:
    return printable_line(path, MAX_TEXT_CHARS)


def _first(lines: list[str]) -> Iterator[str]:
    yield from lines[:MAX_NAMED]
    if len(lines) > MAX_NAMED:
        yield f"and {len(lines) - MAX_NAMED} more"


def _notes(found: _Findings) -> Iterator[str]:
    yield from _first([f"{path} is not known to AIEOS 1.x and left out" for path in found.unknown])
    if found.untold:
        yield f"not for the prompt: {', '.join(found.untold)}"
